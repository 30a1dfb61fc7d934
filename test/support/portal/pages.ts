import { AsyncLocalStorage } from 'node:async_hooks';
import { Elysia } from 'elysia';
import { settleBackground } from '../../../server/background.ts';
import type { ServerOptions } from '../../../server/main.ts';
import { manage } from '../../../server/manage/app.ts';
import { pages } from '../../../server/portal/app.ts';
import {
  createPortalServices,
  type Portal,
  type PortalServices,
  stopPortalServices,
} from '../../../server/portal/services.ts';
import type { Deps } from '../../../shared/deps.ts';
import { sendDueMails } from '../../../shared/mail/outbox.ts';
import { serverOn, type TestServer } from '../http.ts';
import { noteCookies } from '../secret-search.ts';
import { emptyLimits } from '../storage/limits.ts';
import { testClock, testDeps } from '../world.ts';
import { ownerOf, signedIn } from './access.ts';

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

/** Creates a {@link PageWorld} with a new database. */
export function pageWorld(variables: Record<string, string> = {}): PageWorld {
  const clock = testClock();
  const access = testDeps({ clock, variables });
  const events: PageWorld['events'] = [];
  const report: PortalServices['report'] = (level, message, cause, requestId) =>
    void events.push(requestId === undefined ? [level, message] : [level, message, String(cause), requestId]);
  return { access, clock, services: createPortalServices(access, report, emptyLimits(access.clock)), events };
}

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
  const body = form === undefined ? (sent.body ?? null) : new URLSearchParams(form).toString();
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

const UNESCAPED = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" } as const;

/** HTML text as a browser reads it. */
export function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#x27);/g, (_, name: keyof typeof UNESCAPED) => UNESCAPED[name]);
}

/** A sentence of a page without the narrow spaces between thousands, as other doors print it. */
export function plainNumbers(sentence: string): string {
  return sentence.replace(/(?<=\d)\u202f(?=\d{3})/g, '');
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

/** The pages and `/manage` without the rest of a server; a request brings its address and id in headers. */
function createApp(config: Deps['config']) {
  const parts = { config, open: servicesNow, report: reportNow, checkTransport: () => {} };
  const app = new Elysia({ strictPath: true, handler: { standardHostname: false } }).derive(
    ({ request: { headers } }) => ({
      state: { address: headers.get('x-client-address') ?? '', requestId: headers.get('x-request-id') ?? '' },
    }),
  );
  return app.use(manage({ ...parts, countRefusedToken: () => {}, keepOpen: () => {} })).use(pages(parts));
}

/** Elysia takes as long to compile an application as to answer ten requests, so worlds with the same settings share one. */
const APPS = new Map<string, ReturnType<typeof createApp>>();

/** The services of the world whose request is being answered. */
const ANSWERING = new AsyncLocalStorage<PortalServices>();
const servicesNow = () => ANSWERING.getStore() as PortalServices;
const reportNow: PortalServices['report'] = (...event) => servicesNow().report(...event);

/** The methods and paths of all pages and forms. */
export const ROUTES = createApp(testDeps().config).routes.filter(
  ({ method, path }) => path.startsWith('/developers') && method !== 'ALL',
);

/** The portal of a server whose pages are those of a {@link PageWorld}. */
export function portalOf(world: PageWorld): Portal {
  return {
    limits: world.services.limits,
    open: () => world.services,
    opened: () => world.services,
    sendMails: () => sendDueMails(world.access, () => undefined),
    beginStop: () => {
      world.services.isStopping = true;
    },
    stop: () => stopPortalServices(world.services),
  };
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
