import { refusalOf } from '../../../shared/errors.ts';
import { countPending } from '../../../shared/keys/list.ts';
import { runInBackground } from '../../background.ts';
import { EMPTY_POLICY } from '../../frame/frame.ts';
import { publicPath } from '../../http/public-path.ts';
import { layPage, type Visitor } from '../html/layout.ts';
import { removeCookie, setCookie } from './cookies.ts';
import { flashText } from './flash.ts';
import type { Outcome, Page, PageContext } from './request-context.ts';

/** How long the message about a form's effect waits to be shown. */
const FLASH_SECONDS = 60;

type HeaderList = [name: string, value: string][];

/** Makes the response for a route's outcome: a page or a redirect. */
export function answerOutcome(context: PageContext, outcome: Outcome): Response {
  const { cookies = [], after } = outcome;
  const { background, report } = context.services;
  if (after !== undefined) {
    runInBackground(background, after, (cause) => report('error', 'Work for a page failed.', cause));
  }
  const answer = 'seeOther' in outcome ? redirect(context, outcome) : show(context, outcome);
  for (const cookie of cookies) answer.headers.append('Set-Cookie', cookie);
  return answer;
}

function show(context: PageContext, page: Page): Response {
  const { config, access } = context;
  const visitor = visitorOf(context);
  if (visitor.kind === 'admin') visitor.waiting = countPending(access);
  const { html: text, contentSecurityPolicy } = layPage(config, visitor, page);
  const headers = pageHeaders(contentSecurityPolicy);
  if (context.flash !== null) headers.push(['Set-Cookie', removeCookie(config, 'flash')]);
  if (page.refusal === undefined) return new Response(text, { headers });
  const { status = 200, headers: headersOf } = refusalOf(page.refusal);
  headers.push(['X-Error-Code', page.refusal], ...Object.entries(headersOf?.(page.details ?? {}) ?? {}));
  return new Response(text, { status, headers });
}

function redirect({ config }: PageContext, { seeOther, flash }: Extract<Outcome, { seeOther: string }>): Response {
  const headers: HeaderList = [['Location', publicPath(config, seeOther)], ...pageHeaders(EMPTY_POLICY)];
  if (flash !== undefined) headers.push(['Set-Cookie', setCookie(config, 'flash', flash, FLASH_SECONDS)]);
  return new Response('', { status: 303, headers });
}

/** What the head of the page shows about its visitor. */
export function visitorOf({
  path,
  session,
  name,
  flash,
}: Pick<PageContext, 'path' | 'session' | 'name' | 'flash'>): Visitor {
  return {
    kind: session?.person.kind ?? null,
    name,
    flash: flashText(flash),
    path,
  };
}

/** The headers of every page. */
export function pageHeaders(contentSecurityPolicy: string): HeaderList {
  return [
    ['Content-Type', 'text/html; charset=utf-8'],
    ['Content-Security-Policy', contentSecurityPolicy],
    ['Cache-Control', 'no-store'],
    // With no-referrer, a form's Origin would be null.
    ['Referrer-Policy', 'same-origin'],
    ['Cross-Origin-Opener-Policy', 'same-origin'],
    ['Cross-Origin-Resource-Policy', 'same-origin'],
    ['X-Content-Type-Options', 'nosniff'],
  ];
}
