import type { Config } from '../../shared/config/config.ts';
import { isDiskFault } from '../../shared/db/faults.ts';
import { AppError, type ErrorCode, refusalOf } from '../../shared/errors.ts';
import { type Html, html } from '../html.ts';
import { publicPath } from '../http/public-path.ts';
import { shownOf } from '../http/refusals.ts';
import { describeFault } from '../observability/log.ts';
import { removeCookie } from './cookies.ts';
import type { Form } from './form.ts';
import { layPage, type Visitor } from './html/layout.ts';
import type { PageAnswer } from './messages.ts';
import { ruleSentence } from './rules.ts';

/** How a request is logged that was refused before it was known which page it is for, or that is for none. */
export const ANY_PAGE = '/developers/*';

/** What is known of a refused request. */
export type Refused = {
  /** The path of its route; left out where that is not known, or no page is at its path. */
  template?: string;
  /** Who sees it; null where that was not found out. */
  visitor?: Visitor | null;
  /**
   * How a form can be sent again that came from this very site: its path, its fields but those that are used up, and the
   * names of those that nobody has typed. One with a secret in it is not repeated.
   */
  again?: { path: string; form: Form; unseen: readonly string[] } | 'by going back';
  /** Whether the browser was to be signed out: it forgets its session all the same. */
  signsOut?: boolean;
};

/** Makes the page that tells of an error: with the sentence and status that a program would get. Never throws. */
export function refusePage(
  config: Config,
  error: unknown,
  { template = ANY_PAGE, visitor = null, again, signsOut = false }: Refused = {},
): PageAnswer {
  const { code, status, sentence, headers, fault } = readRefusal(error);
  const { text, contentSecurityPolicy } = layPage(config, visitor, {
    title: titleOf(status),
    refusal: code,
    body: html`<h1>${titleOf(status)}</h1><p>${sentence}</p>${signsOut ? FORGOTTEN : ''}${hint(config, code, template)}${again ? sendAgain(config, again) : ''}`,
  });
  return {
    status,
    headers: [
      ...pageHeaders(contentSecurityPolicy),
      ['X-Error-Code', code],
      ...Object.entries(headers),
      ...(signsOut ? [['Set-Cookie', removeCookie(config, 'session')] as [string, string]] : []),
    ],
    body: text,
    template,
    refusal: code,
    fault,
  };
}

/** The headers of every page. */
export function pageHeaders(contentSecurityPolicy: string): [string, string][] {
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

/** What a visitor is shown of an error, and the text for the log where it is a fault of the server. */
function readRefusal(error: unknown) {
  const known = shownAs(error);
  const { code, status, body, headers = {} } = shownOf(known);
  const isFault = refusalOf(code).isLogged && !known.details.isForClient;
  return { code, status, sentence: body.error, headers, fault: isFault ? describeFault(error) : null };
}

/** `profilectl` alone has met these codes so far, so that they have no status: broken rules, and somebody else who is at it. */
function shownAs(error: unknown): AppError {
  const rule = ruleSentence(error);
  if (rule !== null) return new AppError('refused_form', rule);
  if (!(error instanceof AppError)) return new AppError('internal', null, { cause: error });
  if (isDiskFault(error)) return new AppError('not_written', null, { cause: error });
  if (error.code === 'try_later') return new AppError('busy', error.message, { ...error.details, isForClient: true });
  return error;
}

/** The heading of a refusal: what kind of trouble it is. */
function titleOf(status: number): string {
  return TITLES.find(([least]) => status >= least)?.[1] as string;
}

const TITLES: readonly [leastStatus: number, title: string][] = [
  [503, 'Not at this moment'],
  [500, 'Something went wrong here'],
  [405, 'This can’t be done'],
  [404, 'Not found'],
  [403, 'Not allowed'],
  [0, 'This can’t be done'],
];

function hint(config: Config, code: ErrorCode, template: string): Html {
  const home = html`<p><a href="${publicPath(config, '/developers')}">Go to the first page</a></p>`;
  if (code !== 'signed_out') return home;
  const signIn = template.startsWith('/developers/admin') ? '/developers/admin/sign-in' : '/developers/sign-in';
  return html`<p><a href="${publicPath(config, signIn)}" target="_blank">Sign in (in a new tab)</a></p>`;
}

/** What was typed, and a button that sends it once more: nothing is lost while somebody signs in or waits. */
function sendAgain(config: Config, again: NonNullable<Refused['again']>): Html {
  if (again === 'by going back') return GO_BACK;
  const { path, form, unseen } = again;
  const pairs = [...form].flatMap(([name, values]) => values.map((value) => ({ name, value })));
  const typed = pairs.filter(({ name }) => !unseen.includes(name));
  return html`<p>What you typed is still here. When the trouble is over, send it again.</p>
<form method="post" action="${publicPath(config, path)}">
${pairs.map(({ name, value }) => html`<textarea name="${name}" hidden>\n${value}</textarea>`)}
<button>Send again</button>
</form>
<dl class="typed">${typed.map(({ name, value }) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

const GO_BACK = html`<p>What you sent is not repeated here. When the trouble is over, go back to the page before this one, and send it again.</p>`;

const FORGOTTEN = html`<p>This browser is signed out all the same: it has forgotten its session.</p>`;
