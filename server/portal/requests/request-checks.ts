import type { Config } from '../../../shared/config/config.ts';
import { lockDeadline, onceUnlocked, whenUnlocked } from '../../../shared/db/when-unlocked.ts';
import { AppError } from '../../../shared/errors.ts';
import type { Session } from '../../../shared/sign-ins/row.ts';
import { isUseDue, noteUse, readSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { runInBackground } from '../../background.ts';
import { queryOf } from '../../http/parameters.ts';
import { countFailure } from '../../http/throttle.ts';
import { blockOf } from '../../http/transport.ts';
import { FORM, pathParameters, readText, routeFor } from '../../thread/forwarded.ts';
import { PAGE_ROUTES } from '../routes.ts';
import type { PortalServices } from '../services.ts';
import { answerOutcome } from './answers.ts';
import { readCookie, signInFault } from './cookies.ts';
import { type Form, oneValue, readForm, readQuery } from './form.ts';
import { ANY_PAGE, type Arrived, type PageContext, type PageState } from './request-context.ts';
import { withNext } from './return-path.ts';

// The checks that a request passes before its page, in the order of this file. Each adds to the state of the request, which the
// page of a refusal shows too.

const ROUTES = Map.groupBy(PAGE_ROUTES, ({ path }) => path);

/** Makes the state of a request; `params` are the parameters of its path as decoded by Elysia, null if malformed. */
export function openPage(
  config: Config,
  request: Request,
  path: string,
  template: string,
  params: Readonly<Record<string, string | null>> | undefined,
  arrived: Arrived,
): PageState {
  const { headers } = request;
  const whole = pathParameters(params);
  return {
    config,
    request,
    requestId: arrived.requestId,
    path,
    template: whole === null ? ANY_PAGE : template,
    params: whole ?? {},
    cookie: headers.get('cookie') ?? undefined,
    isBehindUnknownProxy: config.trustedProxies === null && headers.has('x-forwarded-for'),
    client: { address: arrived.address, agent: headers.get('user-agent') ?? '' },
    waitUntilMs: lockDeadline(),
    route: null,
    form: null,
    services: null,
    session: null,
    name: '',
    flash: null,
  };
}

type SentPage = PageState & Pick<PageContext, 'route' | 'form' | 'query'>;

/**
 * Reads the fields of a form and the parameters of a query. Throws the refusals of both, and before them `unknown_path` and
 * `method_not_allowed`.
 */
export async function readSent(at: PageState): Promise<SentPage> {
  const { request, template } = at;
  const routes = ROUTES.get(template);
  if (routes === undefined) throw new AppError('unknown_path');
  const route = routeFor(routes, request.method);
  const form: Form =
    request.method === 'POST' ? readForm(await readText(request, FORM), route.fields ?? {}) : new Map();
  const sent = Object.assign(at, { route, form });
  return Object.assign(sent, { query: readQuery(queryOf(request), route.query ?? []) });
}

/** Opens the files, and determines who is signed in. Throws what `open` throws. */
export function identifyVisitor(at: SentPage, open: (request: Request) => PortalServices): PageContext {
  const { config, request, cookie, isBehindUnknownProxy } = at;
  at.services = 'unopenable';
  const services = open(request);
  at.services = services;
  countLimited(services, at);
  const session = signInFault(config, isBehindUnknownProxy) === null ? sessionOf(services, cookie) : null;
  const person = session?.person ?? null;
  const flash = readCookie(config, cookie, 'flash');
  return Object.assign(at, { services, access: services.access, session, flash, person, name: session?.name ?? '' });
}

/** Throws `too_many_failures` if the IP address has sent this form too often. */
function countLimited(services: PortalServices, { route: { limit }, form, client }: SentPage): void {
  // Only what begins a sign-in is counted: strangers at an admin's IP address must not keep a passkey from being accepted.
  if (limit === undefined || (limit === 'passkeys' && oneValue(form, 'credential') !== '')) return;
  const { leakReportThrottle, passkeyThrottle, signInThrottle } = services;
  const throttle = { 'sign-ins': signInThrottle, passkeys: passkeyThrottle, texts: leakReportThrottle }[limit];
  countFailure(throttle, blockOf(client.address), limit === 'passkeys' ? 'sign-ins' : limit);
}

/**
 * Checks that the visitor may use this page. If nobody is signed in, returns a redirect to the sign-in, or throws `signed_out`
 * for a form. Throws `forbidden` for the wrong kind of person.
 */
export function authorise(context: PageContext): Response | undefined {
  const { services, request, path, query, person } = context;
  const { who } = context.route;
  if (who === 'anyone') return;
  if (person === null) {
    if (request.method === 'POST') throw new AppError('signed_out');
    const signIn = who === 'admin' ? '/developers/admin/sign-in' : '/developers/sign-in';
    return answerOutcome(context, { seeOther: withNext(signIn, wantedPage(services, path, query)) });
  }
  if (who !== 'signed in' && person.kind !== who) throw new AppError('forbidden');
}

/**
 * Waits until the files that a form writes to are not locked by another process, without blocking other requests. Throws
 * `busy` once the request has waited for 2 seconds.
 */
export async function waitForLocks({ request, route, access, waitUntilMs }: PageContext): Promise<void> {
  if (request.method !== 'POST') return;
  await whenUnlocked(access.sessions.sqlite, waitUntilMs);
  if (route.writesMain) await whenUnlocked(access.db.$client, waitUntilMs);
}

/** The requested page, to return to after signing in, with the parameters that it reads. */
function wantedPage({ isPage }: PortalServices, path: string, query: PageContext['query']): string {
  const pairs = [...query].flatMap(([name, value]) => (value === '' ? [] : [`${name}=${encodeURIComponent(value)}`]));
  const whole = `${path}?${pairs.join('&')}`;
  return isPage(whole) ? whole : path;
}

/** The session of the cookie, whose use is recorded after the response. */
function sessionOf({ access, background, report }: PortalServices, cookie: string | undefined): Session | null {
  const token = readCookie(access.config, cookie, 'session');
  const session = token === null ? null : readSignIn(access, token);
  if (session !== null && isUseDue(access, session)) {
    const onFault = (cause: unknown) => report('warn', 'The last use of a session could not be recorded.', cause);
    runInBackground(background, () => onceUnlocked(access.sessions.sqlite, () => noteUse(access, session)), onFault);
  }
  return session;
}
