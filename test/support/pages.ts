import { AsyncLocalStorage } from 'node:async_hooks';
import { basename, join } from 'node:path';
import { Elysia } from 'elysia';
import { settleBackground } from '../../server/background.ts';
import type { ServerOptions } from '../../server/main.ts';
import { pages } from '../../server/portal/app.ts';
import { createPortalServices, type PortalServices } from '../../server/portal/services.ts';
import { findAdmin } from '../../shared/admins.ts';
import { DAY_MS } from '../../shared/clock.ts';
import type { Deps } from '../../shared/deps.ts';
import { faultOf } from '../../shared/errors.ts';
import { keyRevision } from '../../shared/keys/record.ts';
import { dayOf, eachOutcome, prepareUsageRows } from '../../shared/usage/usage.ts';
import type { Authenticator } from './authenticator.ts';
import { serverOn, type TestServer } from './http.ts';
import { countingCodes, enrol, ownerOf, signedIn } from './people.ts';
import { insertProfile } from './profiles.ts';
import { type Changes, filledIn, namesOfIdentifiers, readable, recordingIn, unescaped } from './readable.ts';
import { noteCookies } from './secret-search.ts';
import { emptyLimits } from './storage.ts';
import { testClock, testDeps } from './world.ts';

/** Pages in this thread, with a clock that stands still and without a socket. */
export type PageWorld = {
  access: Deps & { folder: string };
  clock: ReturnType<typeof testClock>;
  services: PortalServices;
  /** The log: level and message, then cause and request id. */
  events: string[][];
};

/** A request of a test; the fields of a form make it a same-origin POST. */
export type Sent = {
  method?: string;
  headers?: Record<string, string>;
  form?: Record<string, string> | [string, string][];
  /** The body, unchanged, instead of a form. */
  body?: string;
  cookie?: string;
  address?: string;
  isBehindUnknownProxy?: boolean;
};

/** A response with its complete body. */
export type PageAnswer = {
  status: number;
  headers: [name: string, value: string][];
  body: string;
  /** The code of the refusal, or null. */
  refusal: string | null;
};

/** Requests a page, and waits for the background work that it starts. */
export async function visit(
  { services }: Pick<PageWorld, 'services'>,
  path: string,
  sent: Sent = {},
): Promise<PageAnswer> {
  const answer = await ask({ services }, path, sent);
  await settleBackground(services.background);
  return answer;
}

/** Requests a page without waiting for its background work. */
export async function ask(
  { services }: Pick<PageWorld, 'services'>,
  path: string,
  sent: Sent = {},
): Promise<PageAnswer> {
  const { form, cookie, method = form === undefined ? 'GET' : 'POST', address = '192.0.2.7' } = sent;
  const headers = {
    ...(form && SAME_ORIGIN),
    ...(cookie && { cookie: Buffer.from(cookie).toString('latin1') }),
    ...(sent.isBehindUnknownProxy && { 'x-forwarded-for': '192.0.2.9' }),
    // Bun reads the bytes of a header as Latin-1.
    ...Object.fromEntries(
      Object.entries(sent.headers ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
    ),
    'x-client-address': address,
    'x-request-id': 'test-1',
  };
  const body =
    form === undefined
      ? (sent.body ?? null)
      : new URLSearchParams(withShown(services.access.db, path, form)).toString();
  const answer = await answerIn({ services }, new Request(`http://portal${path}`, { method, headers, body }));
  return {
    status: answer.status,
    headers: [...answer.headers],
    body: await answer.text(),
    refusal: answer.headers.get('x-error-code'),
  };
}

/** The fields that the form on a refused page would send again, in order, as a browser reads them. */
export function sentAgain(page: string): [name: string, value: string][] {
  const fields = page.matchAll(/<textarea name="(\w+)" hidden>\n([^<]*)/g);
  return [...fields].map(([, name = '', value = '']) => [name, unescaped(value)]);
}

/** The headers of a form sent by a page of this site. */
export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' };

/** The values of a response's header. */
export function valuesOf({ headers }: PageAnswer, name: string): string[] {
  return headers.filter(([found]) => found.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
}

/** Signs in the owner of a profile, and returns the Cookie header. */
export function signInOwner(access: Deps, profileId: number): string {
  const token = signedIn(access, ownerOf(profileId), { address: '192.0.2.7', agent: 'A test' });
  return `${access.config.publicUrl.startsWith('https:') ? '__Host-' : ''}session=${token}`;
}

/** A server on a real socket with the pages and the clock of a {@link PageWorld}. */
export async function serverOfPages(world: PageWorld, options: ServerOptions = {}): Promise<TestServer> {
  return serverOn({ ...world.access, clock: world.clock }, undefined, { portal: portalOf(world), ...options });
}

/** Answers a request for a {@link PageWorld} as the portal's thread does. */
export async function answerIn({ services }: Pick<PageWorld, 'services'>, request: Request): Promise<Response> {
  const { config } = services.access;
  // Of the configuration, the application itself reads only what pages look like.
  const settings = JSON.stringify({ ...config, databasePath: null, mail: config.mail?.kind });
  const app = APPS.get(settings) ?? createApp(config);
  APPS.set(settings, app);
  return ANSWERING.run(services, () => app.fetch(request));
}

/** The pages without the rest of a server; a request brings its address and id in headers. */
function createApp(config: Deps['config']) {
  const parts = {
    config,
    portal: new Proxy({} as PortalServices, { get: (_, name) => Reflect.get(ANSWERING.getStore() ?? {}, name) }),
    transport: { isProxy: null, isExposed: false, hasUnreadable: false },
  };
  const app = new Elysia({ strictPath: true, handler: { standardHostname: false } }).derive(
    ({ request: { headers } }) => ({
      state: { address: headers.get('x-client-address') ?? '', requestId: headers.get('x-request-id') ?? '' },
    }),
  );
  return app.use(pages(parts));
}

/** Elysia takes as long to compile an application as to answer ten requests, so worlds with the same settings share one. */
const APPS = new Map<string, ReturnType<typeof createApp>>();

/** The services of the world whose request is being answered. */
const ANSWERING = new AsyncLocalStorage<PortalServices>();

/** The methods and paths of all pages and forms. */
export const ROUTES = createApp(testDeps().config).routes.filter(
  ({ method, path }) => path.startsWith('/developers') && method !== 'ALL',
);

/** The portal of a server whose pages are those of a {@link PageWorld}, whose database stays open. */
export function portalOf({ services }: Pick<PageWorld, 'services'>): PortalServices {
  return Object.create(services);
}

/** Sends a request to a page of a server; a POST has the headers of that server's own forms. */
export async function fetchPage(server: { url: string }, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (init.method === 'POST') {
    for (const [name, value] of Object.entries(SAME_ORIGIN)) if (!headers.has(name)) headers.set(name, value);
  }
  const answer = await fetch(server.url + path, { redirect: 'manual', ...init, headers });
  noteCookies(answer.headers.getSetCookie());
  return answer;
}

/** Two owners; usually the first is signed in. */
export const ADA = { id: 7, username: 'ada', email: 'ada@example.org' };
export const BEA = { id: 8, username: 'bea', email: 'bea@example.org' };

/** Pages on a database with both owners; `cookie` is Ada's session. */
export type OwnerWorld = PageWorld & { cookie: string; lastCode: () => string };

/** Makes pages on a new database, or on that at DATABASE_PATH, with both owners. */
export async function ownerWorld(variables: Record<string, string> = {}): Promise<OwnerWorld> {
  const clock = testClock();
  const codes = countingCodes();
  const access = testDeps({ clock, random: codes.random, variables });
  for (const owner of [ADA, BEA]) insertProfile(access.db, owner);
  const events: PageWorld['events'] = [];
  const report: PortalServices['report'] = (level, message, cause, requestId) =>
    void events.push(requestId === undefined ? [level, message] : [level, message, String(cause), requestId]);
  const services = createPortalServices(access, report, emptyLimits(clock));
  return { access, clock, services, events, cookie: signInOwner(access, ADA.id), lastCode: codes.lastCode };
}

/** Records uses for each of the last days: `max / (ago + 1)` were answered, half as many exceeded a limit. */
export function useKey({ db, clock }: Deps, identifier: string, days: number, max = 900): void {
  const nowMs = clock.nowMs();
  const store = prepareUsageRows(db.$client);
  for (let ago = 0; ago < days; ago++) {
    const ok = Math.round(max / (ago + 1));
    const counts = { ...eachOutcome(() => 0), ok, notFound: 3, limited: Math.round(ok / 2) };
    store([{ identifier, day: dayOf(nowMs) - ago, ...counts, lastUsedAt: nowMs - ago * DAY_MS }]);
  }
}

/** A signed-in admin: the Cookie header and the passkey. */
export type SignedInAdmin = { cookie: string; authenticator: Authenticator };

/** Adds an admin and signs in, without using the passkey for it. */
export async function signInAdmin({ access }: Pick<PageWorld, 'access'>, name: string): Promise<SignedInAdmin> {
  const authenticator = await enrol(access, name);
  const token = signedIn(access, { profileId: null, adminId: findAdmin(access.db, name).id });
  return { cookie: `session=${token}`, authenticator };
}

/** The challenge that a page asks a passkey to sign. */
export function challengeOn(page: Pick<PageAnswer, 'body'>): string {
  return optionsOn(page).challenge;
}

/** The user handle that a page assigns to a new passkey. */
export function userHandleOn(page: Pick<PageAnswer, 'body'>): string {
  return optionsOn(page).user?.handle ?? '';
}

function optionsOn({ body }: Pick<PageAnswer, 'body'>): { challenge: string; user?: { handle: string } } {
  return JSON.parse(unescaped(/data-options="([^"]*)"/.exec(body)?.[1] ?? '{}'));
}

/** The button that approves a request on its page. */
export const APPROVE = 'Approve';

/** A server with the owners Ada and Bea and the signed-in admin Grace. */
export async function adminPages(variables: Record<string, string> = {}) {
  const world = await servePages(variables);
  const signIn = async (name: string) => {
    const { cookie, authenticator } = await signInAdmin(world, name);
    return {
      cookie,
      authenticator,
      see: (path = '') => world.get(`/developers/admin${path}`, cookie),
      press: (page: Answer, button: string, changes?: Changes) => world.press(page, button, changes, cookie),
    };
  };
  return { ...world, signIn, grace: await signIn('Grace') };
}

// Pages of a real server, over HTTP.

/** A response with its whole body. */
export type Answer = {
  status: number;
  /** The code of the refusal, or null. */
  refusal: string | null;
  location: string | null;
  cookies: string[];
  headers: Headers;
  body: string;
  /** Of the identifiers in its database, for recording. */
  names: ReturnType<typeof namesOfIdentifiers>;
};

/** What a form sends. */
export type Form = Record<string, string> | [name: string, value: string][];

/** A server with the owners Ada and Bea, whose clock stands still. */
export type ServedPages = OwnerWorld & {
  server: TestServer;
  get: (path: string, cookie?: string, headers?: Record<string, string>) => Promise<Answer>;
  /** Sends a form as a page of this site does. */
  post: (path: string, form: Form, cookie?: string, headers?: Record<string, string>) => Promise<Answer>;
  /** The whole log so far, as text. */
  logged: () => string;
  /** Sends the form of a page that has this button, with these changes of its fields. */
  press: (page: Answer, button: string, changes?: Changes, cookie?: string) => Promise<Answer>;
};

/** The fields of an owner's form on a key, with the revision that its page shows now unless there is one. */
export function withShown(db: Deps['db'], path: string, form: Form): Form {
  const [, identifier] = /\/keys\/(\w{8})\/(?:rename|withdraw|revoke)$/.exec(path) ?? [];
  const fields: [string, string][] = Array.isArray(form) ? form : Object.entries(form);
  if (identifier === undefined || fields.some(([name]) => name === 'shown')) return form;
  const isThere = faultOf(() => keyRevision(db, identifier)) === null;
  return [...fields, ['shown', isThere ? keyRevision(db, identifier) : 'none']];
}

/** Starts a server on a new database. */
export async function servePages(variables: Record<string, string> = {}): Promise<ServedPages> {
  const world = await ownerWorld({ PUBLIC_URL: 'http://localhost:3000', ...variables });
  const server = await serverOfPages(world);
  const names = namesOfIdentifiers(world.access.db);
  const ask = async (path: string, init: RequestInit, cookie?: string, headers?: Record<string, string>) => {
    const answer = await fetchPage(server, path, { ...init, headers: { ...(cookie && { cookie }), ...headers } });
    return {
      status: answer.status,
      refusal: answer.headers.get('x-error-code'),
      location: answer.headers.get('location'),
      cookies: answer.headers.getSetCookie(),
      headers: answer.headers,
      body: await answer.text(),
      names,
    };
  };
  const post: ServedPages['post'] = (path, form, cookie, headers) =>
    ask(
      path,
      { method: 'POST', body: new URLSearchParams(withShown(world.access.db, path, form)).toString() },
      cookie,
      headers,
    );
  return {
    ...world,
    server,
    post,
    logged: () => JSON.stringify([server.log, world.events]),
    press: (page, button, changes, cookie) => {
      const { action, form } = filledIn(page.body, button, changes);
      return post(action, form, cookie);
    },
    get: (path, cookie, headers) => ask(path, {}, cookie, headers),
  };
}

/** All rows of these tables, and which mails were stored; a server sends these at some time. */
export function storedIn(db: ServedPages['access']['db'], tables: readonly string[]): string {
  const rows = tables.map((table) => db.$client.query(`SELECT * FROM ${table}`).all());
  return JSON.stringify([...rows, db.$client.query('SELECT id, identifier, kind FROM mails').all()]);
}

/**
 * Returns a function that compares what a person sees of a response with what is recorded under a title in the folder `recorded`
 * beside the test file. `part` is `body` for the page with its head and foot.
 */
export function pageRecorder(testFile: string) {
  const record = recordingIn(join(testFile, '../recorded', `${basename(testFile, '.test.ts')}.txt`));
  return (title: string, answer: Answer, part: 'main' | 'body' = 'main'): void => {
    const { status, refusal, location, body, names } = answer;
    const head = [status, ...(refusal === null ? [] : [refusal]), ...(location === null ? [] : [`to ${location}`])];
    const page = body.includes('<main') ? `\n${readable(body, part)}` : '';
    const stable = page
      .replace(/\/(sessions|passkeys)\/[\w-]+(?=\/)/g, '/$1/<number>')
      .replace(/127\.0\.0\.1:\d{4,}/g, '127.0.0.1:<port>');
    record(title, names.hide(`${head.join(' ')}${stable}`));
  };
}
