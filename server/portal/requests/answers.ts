import type { Config } from '../../../shared/config/config.ts';
import { refusalOf } from '../../../shared/errors.ts';
import { countPending } from '../../../shared/keys/list.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { ALL_OPERATIONS } from '../../../shared/operations.ts';
import { numberText } from '../../../shared/text.ts';
import { runInBackground } from '../../background.ts';
import { type BarLink, barItems, barMenu, EMPTY_POLICY, foot, framePage, topBar } from '../../frame/frame.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import localTime from '../html/local-time.browser.js' with { type: 'text' };
import sending from '../html/sending.browser.js' with { type: 'text' };
import { pageSentence } from '../html/time.ts';
import { FLASHES, type Outcome, type Page, type PageContext } from './request-context.ts';
import { removeCookie, setCookie } from './session.ts';

/** How long the message about a form's effect waits to be shown. */
const FLASH_SECONDS = 60;

type HeaderList = [name: string, value: string][];

/** Makes the response for a route's outcome: a page or a redirect. */
export function answerOutcome(context: PageContext, outcome: Outcome): Response {
  const { config, deps, service, flash } = context;
  const { cookies = [], after } = outcome;
  if (after !== undefined) {
    runInBackground(service.background, after, (cause) =>
      service.log.event('error', 'Work for a page failed.', { cause }),
    );
  }
  const answer =
    'seeOther' in outcome
      ? redirect(context, outcome)
      : showPage(config, outcome, {
          ...context,
          waiting: context.person?.kind === 'admin' ? countPending(deps) : 0,
        });
  if (!('seeOther' in outcome) && flash !== null) answer.headers.append('Set-Cookie', removeCookie(config, 'flash'));
  for (const cookie of cookies) answer.headers.append('Set-Cookie', cookie);
  return answer;
}

function redirect({ config, to }: PageContext, { seeOther, flash }: Extract<Outcome, { seeOther: string }>): Response {
  const headers: HeaderList = [['Location', to(seeOther)], ...pageHeaders(EMPTY_POLICY)];
  if (flash !== undefined) headers.push(['Set-Cookie', setCookie(config, 'flash', flash, FLASH_SECONDS)]);
  return new Response('', { status: 303, headers });
}

/** What the head of a page shows about its visitor, and to an admin how many requests are waiting. */
type Visitor = Pick<PageContext, 'session' | 'name' | 'path' | 'flash'> & { waiting?: number };

/** Makes the response of a page: head with links for the visitor (none if the visitor is unknown), `<main>`, footer. */
export function showPage(config: Config, page: Page, visitor: Visitor | null): Response {
  const { title, where, refusal, details = {}, body, scripts = [] } = page;
  const flash = LINES.get(visitor?.flash ?? '');
  const { html: text, contentSecurityPolicy } = framePage(config, {
    title: [`${refusal === undefined ? '' : 'Error: '}${title}`, ...(where === undefined ? [] : [where])].join(' – '),
    scripts: [localTime, sending, ...scripts],
    hasForms: true,
    asks: scripts.length > 0,
    body: html`<a class="skip" href="#main">Skip to the content</a>
${visitor === null ? topBar(config, null) : navigation(config, visitor, where)}
<main id="main" tabindex="-1">
${flash === undefined ? '' : html`<p class="flash" role="status">${flash}</p>`}${body}
</main>
${foot(config)}`,
  });
  const headers = pageHeaders(contentSecurityPolicy);
  if (refusal === undefined) return new Response(text, { headers });
  const { status = 200, headers: headersOf } = refusalOf(refusal);
  headers.push(['X-Error-Code', refusal], ...Object.entries(headersOf?.(details) ?? {}));
  return new Response(text, { status, headers });
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

const LINES: ReadonlyMap<string, string> = new Map([
  ...Object.entries(FLASHES),
  ...ALL_OPERATIONS.flatMap(({ event, texts }): [string, string][] =>
    event === null || texts.done === null ? [] : [[`key-${event}`, texts.done]],
  ),
]);

/** The redirect after an operation, with its message unless the next page makes it clear. */
export function doneAt(seeOther: string, { event, texts }: Pick<AnyOperation, 'event' | 'texts'>) {
  const isSaid = event !== null && texts.done !== null;
  return { seeOther, ...(isSaid && { flash: `key-${event}` as const }) };
}

const DOCS: BarLink = ['/docs', 'Docs'];
/** The paths of the sections that have pages of their own below them. */
const SECTIONS: Readonly<Record<string, string>> = {
  'API keys': '/developers/keys',
  Requests: '/developers/admin',
  Keys: '/developers/admin/keys',
};

const SESSIONS: BarLink = ['/developers/sessions', 'Your sign-ins'];

function navigation(config: Config, { session, name, path, waiting = 0 }: Visitor, where = ''): Html {
  if (session === null)
    return topBar(config, [DOCS], path, html`<a href="${publicPath(config, '/developers/sign-in')}">Sign in</a>`);
  const { kind } = session.person;
  const count = html`<span class="number"><span class="unseen">, waiting: </span>${numberText(waiting)}</span>`;
  const requests: BarLink = ['/developers/admin', html`Requests${waiting > 0 ? count : ''}`];
  const bar: readonly BarLink[] =
    kind === 'owner'
      ? [['/developers/keys', 'API keys'], DOCS]
      : [
          requests,
          ['/developers/admin/keys', 'Keys'],
          ['/developers/admin/overview', 'Overview'],
          ['/developers/admin/log', 'Log'],
        ];
  const menu = kind === 'owner' ? [SESSIONS] : [['/developers/admin/people', 'People and passkeys'] as const, SESSIONS];
  const signOut = html`<form method="post" action="${publicPath(config, '/developers/sign-out')}"><button class="bare">Sign out</button></form>`;
  const items = html`${barItems(config, menu, path)}<li>${signOut}</li>`;
  return topBar(config, bar, path, barMenu(html`<bdi>${name}</bdi>`, items), SECTIONS[where]);
}

/** A page that says why its usual content is not available right now. `where` is its section, `below` follows the sentence. */
export function notePage(
  title: string,
  sentence: string,
  { where, below = html`` }: { where?: string; below?: Html } = {},
): Page {
  return {
    title,
    ...(where !== undefined && { where }),
    body: html`<div class="ask stack"><h1>${title}</h1><p class="note">${pageSentence(sentence)}</p>${below}</div>`,
  };
}
