import type { Config } from '../../../shared/config/config.ts';
import { isDiskFault } from '../../../shared/db/faults.ts';
import { AppError, type ErrorCode, refusalOf } from '../../../shared/errors.ts';
import { type Html, html } from '../../html.ts';
import { versionOf } from '../../http/errors.ts';
import { ROUTE_HEADER } from '../../http/forwarded.ts';
import { publicPath } from '../../http/public-path.ts';
import type { Pages } from '../../thread/pages.ts';
import { layPage, type Visitor } from '../html/layout.ts';
import { SIGN_OUT_PATH } from '../routes.ts';
import { pageHeaders, visitorOf } from './answers.ts';
import { removeCookie } from './cookies.ts';
import type { Form } from './form.ts';
import { ruleSentence } from './form-errors.ts';
import { ANY_PAGE, type PageState } from './request-checks.ts';

/** What the page of a refusal shows beside its sentence. */
type Shown = {
  /** The path of its route, or {@link ANY_PAGE}. */
  template: string;
  /** Who sees it; null where that was not found out. */
  visitor: Visitor | null;
  /**
   * How a form can be sent again that came from this very site: its path, its fields but those that are used up, and the
   * names of those that nobody has typed. One with a secret in it is not repeated.
   */
  again?: { path: string; form: Form; unseen: readonly string[] } | 'by going back';
  /** Whether the browser was to be signed out: it forgets its session all the same. */
  signsOut: boolean;
};

/**
 * Makes the page that tells of an error, with the sentence and status that a program would get, and tells the log where the
 * server is at fault; `at` is left out where the error came before anything was known. Never throws.
 */
export function refuseVisit(config: Config, report: Pages['report'], error: unknown, at?: PageState): Response {
  const known = shownAs(error);
  const { code, status, body, headers = {} } = versionOf(known);
  if (refusalOf(code).isLogged && !known.details.isForClient) {
    report('error', 'A request failed.', error, at?.requestId ?? '');
  }
  const { template, visitor, again, signsOut } = at === undefined ? NOTHING_KNOWN : shownOfState(at);
  const { html: text, contentSecurityPolicy } = layPage(config, visitor, {
    title: titleOf(status),
    refusal: code,
    body: html`<h1>${titleOf(status)}</h1><p>${body.error}</p>${signsOut ? FORGOTTEN : ''}${hint(config, code, template, visitor)}${again ? sendAgain(config, again) : ''}`,
  });
  const answer = new Response(text, { status, headers: pageHeaders(contentSecurityPolicy) });
  answer.headers.set('X-Error-Code', code);
  answer.headers.set(ROUTE_HEADER, template);
  for (const [name, value] of Object.entries(headers)) answer.headers.set(name, value);
  if (signsOut) answer.headers.append('Set-Cookie', removeCookie(config, 'session'));
  return answer;
}

const NOTHING_KNOWN: Shown = { template: ANY_PAGE, visitor: null, signsOut: false };

/** Only a form that came from this very site is offered to be sent again. */
function shownOfState(at: PageState): Shown {
  const { template, route, path } = at;
  const fields = route?.fields ?? {};
  const sent = [...(at.form ?? [])];
  const form = new Map(sent.filter(([name]) => fields[name] !== 'secret' && fields[name] !== 'used up'));
  const unseen = Object.keys(fields).filter((name) => fields[name]?.endsWith('unseen'));
  const isWhole = sent.every(([name]) => fields[name] !== 'secret');
  return {
    template,
    visitor: at.pages === 'unopenable' ? null : visitorOf({ ...at, flash: null }),
    signsOut: template === SIGN_OUT_PATH && at.form !== null,
    ...(sent.length > 0 && { again: isWhole ? { path, form, unseen } : 'by going back' }),
  };
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

function hint(config: Config, code: ErrorCode, template: string, visitor: Visitor | null): Html {
  const [path, text] = WAYS_ON[visitor?.kind ?? 'nobody'];
  if (code !== 'signed_out') return html`<p><a href="${publicPath(config, path)}">${text}</a></p>`;
  const signIn = template.startsWith('/developers/admin') ? '/developers/admin/sign-in' : '/developers/sign-in';
  return html`<p><a href="${publicPath(config, signIn)}" target="_blank">Sign in (in a new tab)</a></p>`;
}

/** Where each kind of visitor goes on. */
const WAYS_ON = {
  owner: ['/developers/keys', 'Go to your keys'],
  admin: ['/developers/admin', 'Go to the requests'],
  nobody: ['/developers', 'Go to the start page'],
} as const;

/** What was typed, and a button that sends it once more: nothing is lost while somebody signs in or waits. */
function sendAgain(config: Config, again: NonNullable<Shown['again']>): Html {
  if (again === 'by going back') return GO_BACK;
  const { path, form, unseen } = again;
  const pairs = [...form].flatMap(([name, values]) => values.map((value) => ({ name, value })));
  const typed = pairs.filter(({ name }) => !unseen.includes(name));
  return html`<p>What you typed is still here. Send it again once the problem is solved.</p>
<form method="post" action="${publicPath(config, path)}">
${pairs.map(({ name, value }) => html`<textarea name="${name}" hidden>\n${value}</textarea>`)}
<button>Send again</button>
</form>
<dl class="typed">${typed.map(({ name, value }) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

const GO_BACK = html`<p>What you sent is not repeated here. Once the problem is solved, go back to the previous page and send it again.</p>`;

const FORGOTTEN = html`<p>This browser is signed out all the same.</p>`;
