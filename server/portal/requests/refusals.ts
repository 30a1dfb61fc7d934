import type { Config } from '../../../shared/config/config.ts';
import { isDiskFault } from '../../../shared/db/faults.ts';
import { AppError, type ErrorCode, refusalOf } from '../../../shared/errors.ts';
import { factsOf, formNameOf } from '../../../shared/keys/fields/input-facts.ts';
import { FIELDS } from '../../../shared/keys/fields/inputs.ts';
import { type Html, html } from '../../html.ts';
import { publicRefusal } from '../../http/errors.ts';
import { publicPath } from '../../http/public-path.ts';
import { layPage, type Visitor } from '../html/layout.ts';
import { pageSentence } from '../html/time.ts';
import { SIGN_OUT_PATH } from '../routes.ts';
import type { PortalServices } from '../services.ts';
import { pageHeaders, visitorOf } from './answers.ts';
import { removeCookie } from './cookies.ts';
import type { Form } from './form.ts';
import { ruleSentence } from './form-errors.ts';
import { ANY_PAGE, type PageRoute, type PageState } from './request-context.ts';

type Shown = {
  template: string;
  /** The visitor; null if the files could not be opened. */
  visitor: Visitor | null;
  /**
   * How to send a form again: its path, its fields except those that are used up, and the names of the hidden ones. A form with
   * a secret is not repeated; the visitor has to go back.
   */
  again?: { path: string; form: Form; unseen: readonly string[] } | 'by going back';
  /** For a person of the wrong kind: whom the page is for, and who is signed in. */
  mistaken?: Html;
  /** Whether the request was to sign out: then the browser forgets its session anyway. */
  signsOut: boolean;
};

/**
 * Makes the page of an error, with the sentence and status that a program would get, and logs the error if the server is at
 * fault; `at` is absent for errors that precede the checks. Never throws.
 */
export function refusePage(config: Config, report: PortalServices['report'], error: unknown, at?: PageState): Response {
  const known = errorForVisitor(error);
  const { code, status, body, headers = {} } = publicRefusal(known);
  if (refusalOf(code).isLogged && !known.details.isForClient) {
    report('error', 'A request failed.', error, at?.requestId ?? '');
  }
  const { template, visitor, again, mistaken = html``, signsOut } = at === undefined ? NOTHING_KNOWN : shownOfState(at);
  const { html: text, contentSecurityPolicy } = layPage(config, visitor, {
    title: titleOf(status),
    refusal: code,
    body: html`<h1>${titleOf(status)}</h1><p>${pageSentence(body.error)}</p>${mistaken}${signsOut ? FORGOTTEN : ''}${hint(config, code, template, visitor)}${again ? sendAgain(config, again) : ''}`,
  });
  const answer = new Response(text, { status, headers: pageHeaders(contentSecurityPolicy) });
  answer.headers.set('X-Error-Code', code);
  for (const [name, value] of Object.entries(headers)) answer.headers.set(name, value);
  if (signsOut) answer.headers.append('Set-Cookie', removeCookie(config, 'session'));
  return answer;
}

const NOTHING_KNOWN: Shown = { template: ANY_PAGE, visitor: null, signsOut: false };

/** A form is offered to be sent again only if it came from this site: otherwise `at.form` is null. */
function shownOfState(at: PageState): Shown {
  const { template, route, path } = at;
  const fields = route?.fields ?? {};
  const sent = [...(at.form ?? [])];
  const form = new Map(sent.filter(([name]) => fields[name] !== 'secret' && fields[name] !== 'used up'));
  const unseen = Object.keys(fields).filter((name) => fields[name]?.endsWith('unseen'));
  const isWhole = sent.every(([name]) => fields[name] !== 'secret');
  const visitor = at.services === 'unopenable' ? null : visitorOf({ ...at, flash: null });
  return {
    template,
    visitor,
    mistaken: mistakenFor(route?.who, visitor),
    signsOut: template === SIGN_OUT_PATH && at.form !== null,
    ...(sent.length > 0 && { again: isWhole ? { path, form, unseen } : 'by going back' }),
  };
}

function mistakenFor(who: PageRoute['who'] | undefined, visitor: Visitor | null): Html {
  const { kind = null, name = '' } = visitor ?? {};
  if (kind === null || who === kind || (who !== 'owner' && who !== 'admin')) return html``;
  return html`<p>This page is for ${who}s, and you are signed in as the ${kind} <bdi>${name}</bdi>.</p>`;
}

/** Translates the codes that are meant for `profilectl` and have no status: broken rules, and concurrent work. */
function errorForVisitor(error: unknown): AppError {
  const rule = ruleSentence(error);
  if (rule !== null) return new AppError('refused_form', rule);
  if (!(error instanceof AppError)) return new AppError('internal', null, { cause: error });
  if (isDiskFault(error)) return new AppError('not_written', null, { cause: error });
  if (error.code === 'try_later') return new AppError('busy', error.message, { ...error.details, isForClient: true });
  return error;
}

function titleOf(status: number): string {
  return TITLES.find(([min]) => status >= min)?.[1] as string;
}

const TITLES: readonly [minStatus: number, title: string][] = [
  [503, 'Not available right now'],
  [500, 'Something went wrong'],
  [405, 'This can’t be done'],
  [404, 'Not found'],
  [403, 'Not allowed'],
  [0, 'This can’t be done'],
];

function hint(config: Config, code: ErrorCode, template: string, visitor: Visitor | null): Html {
  const [path, text] = LINKS[visitor?.kind ?? 'nobody'];
  if (code !== 'signed_out') return html`<p><a href="${publicPath(config, path)}">${text}</a></p>`;
  const signIn = template.startsWith('/developers/admin') ? '/developers/admin/sign-in' : '/developers/sign-in';
  return html`<p><a href="${publicPath(config, signIn)}" target="_blank">Sign in (in a new tab)</a></p>`;
}

const LINKS = {
  owner: ['/developers/keys', 'Go to your keys'],
  admin: ['/developers/admin', 'Go to the requests'],
  nobody: ['/developers', 'Go to the start page'],
} as const;

/** What was typed, and a button that sends it again: nothing is lost while the visitor signs in or waits. */
function sendAgain(config: Config, again: NonNullable<Shown['again']>): Html {
  if (again === 'by going back') return GO_BACK;
  const { path, form, unseen } = again;
  const pairs = [...form].flatMap(([name, values]) => values.map((value) => ({ name, value })));
  const typed = pairs.filter(({ name, value }) => value !== '' && !unseen.includes(name));
  const list = typed.map(({ name, value }) => html`<div><dt>${titleOfField(name)}</dt><dd>${value}</dd></div>`);
  return html`<p>${list.length === 0 ? '' : 'What you typed is still here. '}Send it again once the problem is solved.</p>
<form method="post" action="${publicPath(config, path)}">
${pairs.map(({ name, value }) => html`<textarea name="${name}" hidden>\n${value}</textarea>`)}
<button>Send again</button>
</form>
${list.length === 0 ? '' : html`<dl>${list}</dl>`}`;
}

const FIELD_TITLES: ReadonlyMap<string, string> = new Map([
  ...Object.entries(FIELDS).map(([input, schema]) => [formNameOf(input, schema), factsOf(schema).title] as const),
  ...Object.entries({ name: 'Name', address: 'E-mail address', code: 'Code' }),
]);

/** Fields for typing a value that the page does not offer have the suffix `Other`. */
function titleOfField(name: string): string {
  return FIELD_TITLES.get(name.replace(/Other$/, '')) ?? name;
}

const GO_BACK = html`<p>What you sent is not repeated here. Once the problem is solved, go back to the previous page and send it again.</p>`;

const FORGOTTEN = html`<p>This browser is signed out anyway.</p>`;
