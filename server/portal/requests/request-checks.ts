import type { Config } from '../../../shared/config/config.ts';
import { onceUnlocked, whenUnlocked } from '../../../shared/db/when-unlocked.ts';
import { AppError } from '../../../shared/errors.ts';
import { readOwner } from '../../../shared/keys/record.ts';
import type { Session, SignedInPerson } from '../../../shared/sign-ins/row.ts';
import { noteUse, readSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { runInBackground } from '../../thread/background.ts';
import { ARRIVED_HEADERS, FORM, readText, targetOf } from '../../thread/forwarded.ts';
import type { Pages } from '../../thread/pages.ts';
import { PAGE_ROUTES } from '../routes.ts';
import { readCookie, signInFault } from './cookies.ts';
import { type Form, readForm, readQuery } from './form.ts';
import type { PageContext, PageRoute } from './request-context.ts';
import { withNext } from './return-path.ts';

// The checks that a request passes before its page, in the order of this file.

/** The route in the log of requests that match no page, or were refused before their page was known. */
export const ANY_PAGE = '/developers/*';

/** State shared by the request checks and the error page. */
export type PageState = {
  readonly config: Config;
  readonly request: Request;
  readonly requestId: string;
  /** As it was sent, percent-encoded. */
  readonly path: string;
  /** The path of its route, or {@link ANY_PAGE}. */
  readonly template: string;
  /** Its entry in the table; null if no page has its path and method. */
  readonly route: PageRoute | null;
  readonly params: Readonly<Record<string, string>>;
  query: ReadonlyMap<string, string>;
  /** The fields of a POST, once they are read. */
  form: Form | null;
  /** What pages work with, once the files are open; `unopenable` if opening them failed. */
  pages: Pages | 'unopenable' | null;
  session: Session | null;
  /** The name of the signed-in admin, or the owner's username; empty if nobody is signed in. */
  name: string;
  flash: string | null;
  /** What its route gets, once it has passed the checks. */
  context: PageContext | null;
};

const ENTRIES: ReadonlyMap<string, PageRoute> = new Map(
  PAGE_ROUTES.map((route) => [`${route.method} ${route.path}`, route]),
);

/** Makes the state of a request; `params` are the parameters of its path as decoded by Elysia, null if malformed. */
export function openPage(
  config: Config,
  request: Request,
  template: string,
  params: Readonly<Record<string, string | null>> = {},
): PageState {
  const { method, url, headers } = request;
  const isWhole = !template.endsWith('*') && Object.values(params).every((part) => part);
  return {
    config,
    request,
    requestId: headers.get(ARRIVED_HEADERS.requestId) ?? '',
    path: targetOf(url).path,
    template: isWhole ? template : ANY_PAGE,
    route: (isWhole && ENTRIES.get(`${method === 'HEAD' ? 'GET' : method} ${template}`)) || null,
    params: params as Record<string, string>,
    query: new Map(),
    form: null,
    pages: null,
    session: null,
    name: '',
    flash: null,
    context: null,
  };
}

/** Reads the fields of a form and the parameters of a query. Throws the refusals of both, and `unknown_path`. */
export async function readSent(at: PageState): Promise<void> {
  const { request, route, template } = at;
  if (template === ANY_PAGE) throw new AppError('unknown_path');
  // The path has no such method: its route refuses it.
  if (route === null) return;
  if (request.method === 'POST') at.form = readForm(await readText(request, FORM), route.fields ?? {});
  at.query = readQuery(targetOf(request.url).query, route.query ?? []);
}

/**
 * Opens the files, and identifies and authorises the visitor. If a page requires signing in, returns a redirect to that.
 * Throws `signed_out` and `forbidden`, and what `open` throws.
 */
export function admitVisitor(at: PageState, open: (request: Request) => Pages): { seeOther: string } | undefined {
  const { config, request, route, params, query, form } = at;
  if (route === null) return;
  at.pages = 'unopenable';
  const pages = open(request);
  at.pages = pages;
  const cookie = request.headers.get('cookie') ?? undefined;
  const isBehindUnknownProxy = config.trustedProxies === null && request.headers.has('x-forwarded-for');
  at.session = signInFault(config, isBehindUnknownProxy) === null ? sessionOf(pages, cookie) : null;
  at.flash = readCookie(config, cookie, 'flash');
  const person = at.session?.person ?? null;
  at.name = nameOf(pages, person);
  if (route.who !== 'anyone' && person === null) {
    if (request.method === 'POST') throw new AppError('signed_out');
    const signIn = route.who === 'admin' ? '/developers/admin/sign-in' : '/developers/sign-in';
    return { seeOther: withNext(signIn, wantedPage(pages, at.path, query)) };
  }
  if (route.who !== 'anyone' && route.who !== 'signed in' && person?.kind !== route.who)
    throw new AppError('forbidden');
  const { access } = pages;
  const [address, agent] = [ARRIVED_HEADERS.address, 'user-agent'].map((name) => request.headers.get(name) ?? '');
  const client = { address: address as string, agent: agent as string };
  const sent = { cookie, isBehindUnknownProxy, client, params, query, form: form ?? new Map() };
  at.context = { pages, access, ...sent, session: at.session, person };
}

function nameOf({ access }: Pages, person: SignedInPerson | null): string {
  return person?.kind === 'owner' ? (readOwner(access.db, person)?.username ?? '') : (person?.name ?? '');
}

/**
 * Waits until the files that a form writes to are not locked by another process, without blocking other requests. Throws
 * `busy` after 2 seconds.
 */
export async function waitForLocks({ request, route, context }: PageState): Promise<void> {
  if (context === null || request.method !== 'POST') return;
  await whenUnlocked(context.access.sessions.sqlite);
  if (route?.writesMain) await whenUnlocked(context.access.db.$client);
}

/** The requested page, to return to after signing in, with the parameters that it reads. */
function wantedPage({ isPage }: Pages, path: string, query: PageContext['query']): string {
  const pairs = [...query].flatMap(([name, value]) => (value === '' ? [] : [`${name}=${encodeURIComponent(value)}`]));
  const whole = `${path}?${pairs.join('&')}`;
  return isPage(whole) ? whole : path;
}

/** The session of the cookie, whose use is recorded after the answer. */
function sessionOf({ access, background, report }: Pages, cookie: string | undefined): Session | null {
  const token = readCookie(access.config, cookie, 'session');
  const session = token === null ? null : readSignIn(access, 'browser', token);
  if (session !== null) {
    const onFault = (cause: unknown) => report('warn', 'The last use of a session could not be recorded.', cause);
    runInBackground(background, () => onceUnlocked(access.sessions.sqlite, () => noteUse(access, session)), onFault);
  }
  return session;
}
