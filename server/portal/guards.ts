import { Elysia } from 'elysia';
import { lockDeadline, whenFree, whenUnlocked } from '../../shared/db/write.ts';
import { AppError } from '../../shared/errors.ts';
import { networkOf } from '../../shared/net.ts';
import { isUseDue, noteUse, readSignIn } from '../../shared/sign-in/sessions.ts';
import { countFailure, createThrottle, FAILURES } from '../../shared/throttle.ts';
import { runInBackground } from '../background.ts';
import { EMPTY_POLICY } from '../frame/frame.ts';
import { requestState } from '../http/every-request.ts';
import { queryOf } from '../http/parameters.ts';
import { publicPath } from '../http/public-path.ts';
import { checkTransport } from '../http/transport.ts';
import type { Service } from '../service.ts';
import { answerOutcome, pageHeaders } from './requests/answers.ts';
import { oneValue, readForm } from './requests/form.ts';
import { refusePage } from './requests/refusals.ts';
import type { Outcome, PageContext } from './requests/request-context.ts';
import { isPagePath, readCookie, signInFault, withNext } from './requests/session.ts';

// The plugins of the pages under /developers. A request passes them in the order of this file, and each adds to its context,
// which the page of a refusal shows too.

/** The plugin of every request under `/developers`. Checks where the request comes from. Errors become pages. */
export function arrivals(service: Service) {
  const { deps, log, transport } = service;
  const { config } = deps;
  return new Elysia({ name: 'arrivals' })
    .use(requestState(service))
    .derive(({ request, path, route, state }) => ({ page: openPage(service, request, { path, route, state }) }))
    .onError(({ page, request, error, set }) => {
      // Otherwise Elysia copies the Response, which turns its body into a stream.
      set.status = 200;
      // An address that somebody typed without its https://.
      const isPlain = error instanceof AppError && error.code === 'plain_http';
      if (isPlain && request.method === 'GET' && config.publicUrl.startsWith('https:')) {
        const headers = [...pageHeaders(EMPTY_POLICY), ['Location', config.publicUrl + (page?.path ?? '/developers')]];
        return new Response('', { status: 307, headers: headers as [string, string][] });
      }
      return refusePage(config, log, error, page);
    })
    .onBeforeHandle(({ page, request, params }) => {
      const { path, state } = page;
      checkTransport(transport, request, path, state.peer);
      refuseCrossSite(request, config.publicUrl);
      // Elysia leaves null for what it can't decode.
      if (Object.values(params ?? {}).some((value) => value === null)) throw new AppError('unknown_path');
      page.params = params ?? {};
    })
    .as('scoped');
}

/** The plugin of pages: reads the form of a POST, and determines who is signed in. */
export function anyone(arrived: ReturnType<typeof arrivals>) {
  return new Elysia({ name: 'any-page' })
    .use(arrived)
    .onBeforeHandle(async ({ page, request }) => {
      if (request.method === 'POST') {
        page.form = await readForm(request);
        // A form that arrives slowly waits for locks as long as others do.
        page.waitUntilMs = lockDeadline();
        countLimited(page);
        // Before anything is read. What then writes takes the lock itself.
        await whenFree(page.deps.db.$client, () => {}, page.waitUntilMs);
      }
      identifyVisitor(page);
    })
    .as('scoped');
}

/** Pages after the checks of {@link anyone}. */
export type Visitors = ReturnType<typeof anyone>;

/**
 * The plugin of pages for one kind of person, or for both. If nobody is signed in, redirects to the sign-in, or throws
 * `signed_out` for a form. Throws `forbidden` for the wrong kind of person.
 */
export function signedIn(visitors: Visitors, kind: 'owner' | 'admin' | 'both') {
  return new Elysia({ name: 'signed-in', seed: kind })
    .use(visitors)
    .onBeforeHandle(({ page, request }) => {
      const { person } = page;
      page.isFor = kind;
      if (person === null) {
        if (request.method === 'POST') throw new AppError('signed_out');
        const signIn = kind === 'admin' ? '/developers/admin/sign-in' : '/developers/sign-in';
        return answerOutcome(page, { seeOther: withNext(signIn, wantedPage(page)) });
      }
      if (kind !== 'both' && person.kind !== kind) throw new AppError('forbidden');
    })
    .as('scoped');
}

/** The handler of a route, which shows the page or the redirect that `act` returns. */
export function show(act: (page: PageContext) => Outcome | Promise<Outcome>) {
  return async ({ page }: { page: PageContext }) => answerOutcome(page, await act(page));
}

function openPage(
  service: Service,
  request: Request,
  { path, route, state }: Pick<PageContext, 'path' | 'route' | 'state'>,
): PageContext {
  const { deps } = service;
  const { config } = deps;
  const page: PageContext = {
    request,
    state,
    config,
    deps,
    service,
    path,
    route,
    nowMs: deps.clock.nowMs(),
    to: (path) => publicPath(config, path),
    client: { address: state.address, agent: request.headers.get('user-agent') ?? '' },
    waitUntilMs: lockDeadline(),
    write: (act) => whenFree(deps.db.$client, act, page.waitUntilMs),
    params: {},
    form: new Map(),
    session: null,
    person: null,
    name: '',
    flash: null,
    isFor: null,
  };
  return page;
}

/**
 * How often a network may send a form within how many seconds; `what` names the forms in the refusal. An IPv6 network is a /64,
 * unless `bits` says otherwise.
 */
type Limit = { what: string; quota: number; windowSeconds: number; bits?: 48 };

const ASKED = { what: 'requests for a code', windowSeconds: 3_600 };

/** The limits of the forms that strangers can send, by their routes. */
const LIMITED: Readonly<Record<string, readonly Limit[]>> = {
  '/developers/sign-in': [
    { ...ASKED, quota: 10 },
    { ...ASKED, quota: 100, bits: 48 },
  ],
  '/developers/sign-in/code': [{ what: 'codes', ...FAILURES }],
  '/developers/enter': [{ what: 'sign-ins', ...FAILURES }],
  '/developers/enrol': [{ what: 'registrations', ...FAILURES }],
  '/developers/admin/sign-in': [{ what: 'sign-ins', ...FAILURES }],
  '/developers/admin/people/passkeys': [{ what: 'registrations', ...FAILURES }],
  '/developers/found': [{ what: 'texts', ...FAILURES }],
};

/** Throws `too_many_failures` if the IP address has sent this form too often; called before anything is read from the database. */
function countLimited({ deps, service, route, form, client }: PageContext): void {
  // What only continues a sign-in is not counted: strangers at an admin's IP address must not keep a passkey from being accepted.
  if (route === '/developers/admin/sign-in' && oneValue(form, 'credential') !== '') return;
  for (const { what, quota, windowSeconds, bits = 64 } of LIMITED[route] ?? []) {
    const name = `${route} /${bits}`;
    const throttle = service.formThrottles.get(name) ?? createThrottle(deps.clock, quota, windowSeconds * 1_000);
    service.formThrottles.set(name, throttle);
    countFailure(throttle, networkOf(client.address, bits), what);
  }
}

/**
 * Determines from the cookie who is signed in, and has the use of the session recorded after the response. A request that another
 * site made does not count as use: otherwise that site could keep a session from ending.
 */
function identifyVisitor(page: PageContext): void {
  const { deps, request, service, nowMs } = page;
  page.flash = readCookie(page, 'flash');
  const token = signInFault(page) === null ? readCookie(page, 'session') : null;
  const session = token === null ? null : readSignIn(deps, token);
  if (session === null) return;
  Object.assign(page, { session, person: session.person, name: session.name });
  const isOthers = /^(same|cross)-site$/.test(request.headers.get('sec-fetch-site') ?? '');
  if (isOthers || !isUseDue(nowMs, session)) return;
  const onFault = (cause: unknown) =>
    service.log.event('warn', 'The last use of a session could not be recorded.', { cause });
  const note = () => whenUnlocked(deps.db.$client, () => noteUse(deps, session));
  runInBackground(service.background, note, onFault);
}

/** The requested page, to return to after signing in, with its parameters if they are plain. */
function wantedPage({ request, path }: PageContext): string {
  const query = queryOf(request);
  return query !== '' && isPagePath(`${path}?${query}`) ? `${path}?${query}` : path;
}

/**
 * Throws `cross_site` unless the browser states that a page of this origin sent the form: in `Sec-Fetch-Site` or, if that
 * header is absent (as over plain HTTP), in `Origin`. SameSite cookies don't protect against other hosts of the same site.
 */
function refuseCrossSite({ method, headers }: Pick<Request, 'method' | 'headers'>, publicUrl: string): void {
  if (method !== 'POST') return;
  const site = headers.get('sec-fetch-site');
  const isOwn = site === null ? headers.get('origin') === new URL(publicUrl).origin : site === 'same-origin';
  if (!isOwn) throw new AppError('cross_site');
}
