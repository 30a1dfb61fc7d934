import type { Config } from '../../../shared/config/config.ts';
import { isDiskFault, knownError } from '../../../shared/db/faults.ts';
import { AppError, type ErrorCode, refusalOf } from '../../../shared/errors.ts';
import { FIELDS } from '../../../shared/keys/fields.ts';
import { factsOf, formNameOf } from '../../../shared/keys/inputs.ts';
import { type Html, html } from '../../html.ts';
import { publicRefusal } from '../../http/answers.ts';
import { publicPath } from '../../http/public-path.ts';
import type { Log } from '../../observability/log.ts';
import { pageSentence } from '../html/time.ts';
import { showPage } from './answers.ts';
import { ruleSentence } from './operation-form.ts';
import type { PageContext } from './request-context.ts';
import { removeCookie } from './session.ts';

/**
 * Makes the page of an error, with the sentence and status that a program would get, and logs the error if the server is at
 * fault; `page` is absent for errors that precede it, as when the files can't be opened. Never throws.
 */
export function refusePage(config: Config, log: Log, error: unknown, page?: PageContext): Response {
  const known = errorForVisitor(knownError(config.databasePath, error));
  const { code, status, body } = publicRefusal(known);
  if (refusalOf(code).isLogged && !known.details.isForClient) {
    log.event('error', 'A request failed.', { cause: error, requestId: page?.state.requestId ?? '' });
  }
  // Then the browser forgets its session anyway.
  const signsOut = page?.route === SIGN_OUT_PATH && code !== 'cross_site';
  const refused = {
    title: titleOf(status),
    refusal: code,
    details: known.details,
    body: html`<div class="ask stack"><h1>${titleOf(status)}</h1><p>${pageSentence(body.error)}</p>${mistakenFor(page)}${signsOut ? FORGOTTEN : ''}${hint(config, code, page)}${sendAgain(config, page)}</div>`,
  };
  const answer = showPage(config, refused, page === undefined ? null : { ...page, flash: null });
  if (signsOut) answer.headers.append('Set-Cookie', removeCookie(config, 'session'));
  return answer;
}

/** The path for signing out. */
export const SIGN_OUT_PATH = '/developers/sign-out';

/** For a person of the wrong kind: whom the page is for, and who is signed in. */
function mistakenFor(page: PageContext | undefined): Html {
  const { person = null, isFor = null, name = '' } = page ?? {};
  if (person === null || isFor === null || isFor === 'both' || person.kind === isFor) return html``;
  return html`<p>This page is for ${isFor}s, and you are signed in as the ${person.kind} <bdi>${name}</bdi>.</p>`;
}

/** Translates the codes that are meant for `profilectl` and have no status: broken rules, and concurrent work. */
function errorForVisitor(error: AppError): AppError {
  const rule = ruleSentence(error);
  if (rule !== null) return new AppError('refused_form', rule);
  if (isDiskFault(error)) return new AppError('not_written', null, { cause: error });
  if (error.code === 'try_later') return new AppError('busy', error.message, { ...error.details, isForClient: true });
  return error;
}

function titleOf(status: number): string {
  return TITLES[status] ?? (status > 500 ? 'Not available right now' : 'This can’t be done');
}

const TITLES: Readonly<Record<number, string>> = {
  403: 'Not allowed',
  404: 'Not found',
  500: 'Something went wrong',
};

function hint(config: Config, code: ErrorCode, page: PageContext | undefined): Html {
  const [path, text] = LINKS[page?.session?.person.kind ?? 'nobody'];
  if (code !== 'signed_out') return html`<p><a href="${publicPath(config, path)}">${text}</a></p>`;
  const signIn = page?.isFor === 'admin' ? '/developers/admin/sign-in' : '/developers/sign-in';
  return html`<p><a href="${publicPath(config, signIn)}" target="_blank">Sign in (in a new tab)</a></p>`;
}

const LINKS = {
  owner: ['/developers/keys', 'Go to your keys'],
  admin: ['/developers/admin', 'Go to the requests'],
  nobody: ['/developers', 'Go to the start page'],
} as const;

/** Fields with a secret, after which a form is not repeated: the visitor has to go back. */
const SECRETS = ['secret', 'ticket'];

/** The credential of a passkey, which works once. */
const USED_UP = 'credential';

/** What was typed, and a button that sends it again: nothing is lost while the visitor signs in or waits. */
function sendAgain(config: Config, page: PageContext | undefined): Html {
  const { form = new Map<string, readonly string[]>(), path = '' } = page ?? {};
  if (form.size === 0) return html``;
  if (SECRETS.some((name) => form.has(name))) return GO_BACK;
  const pairs = [...form].flatMap(([name, values]) =>
    name === USED_UP ? [] : values.map((value) => ({ name, value })),
  );
  const list = pairs.flatMap(({ name, value }) => {
    // Fields for typing a value that the page does not offer have the suffix `Other`. Hidden ones have no title.
    const title = FIELD_TITLES.get(name.replace(/Other$/, ''));
    return title === undefined || value === '' ? [] : [html`<div><dt>${title}</dt><dd>${value}</dd></div>`];
  });
  return html`<p>${list.length === 0 ? '' : 'What you typed is still here. '}Send it again once the problem is solved.</p>
<form method="post" action="${publicPath(config, path)}">
${pairs.map(({ name, value }) => html`<textarea name="${name}" hidden>\n${value}</textarea>`)}
<p class="buttons"><button class="filled">Send again</button></p>
</form>
${list.length === 0 ? '' : html`<dl class="facts">${list}</dl>`}`;
}

const FIELD_TITLES: ReadonlyMap<string, string> = new Map([
  ...Object.entries(FIELDS).flatMap(([input, schema]) => {
    const { kind, title } = factsOf(schema);
    return kind === 'hidden' || input === 'after' ? [] : [[formNameOf(input, schema), title] as const];
  }),
  ...Object.entries({ name: 'Name', address: 'E-mail address', code: 'Code' }),
]);

const GO_BACK = html`<p>What you sent is not repeated here. Once the problem is solved, go back to the previous page and send it again.</p>`;

const FORGOTTEN = html`<p>This browser is signed out anyway.</p>`;
