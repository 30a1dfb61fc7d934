import { expect } from 'bun:test';
import type { Permission } from '../../shared/db/schema.ts';
import type { Deps } from '../../shared/deps.ts';
import { DOCUMENTED_CODES, type ErrorCode, refusalOf } from '../../shared/errors.ts';
import { parseRateLimit } from '../../shared/limits/rate-limit.ts';
import { issue } from './keys.ts';
import { insertProfile } from './profiles.ts';

/** The profile that {@link pathOf} requests. */
export const SUBJECT = { id: 7, username: 'Ada', authId: 'auth0|a/b' } as const;

/** A path of the application, and who may request it. `isFree` if it does not count towards the rate limits of a key. */
export type Route = { path: string; access: 'anyone' | 'any key' | Permission; isFree?: true };

/** All routes except those for unknown paths and the portal. A test compares them with the application's own list. */
export const ROUTES: readonly Route[] = [
  ...['username/:username', 'uid/:uid', 'authid/:authId'].flatMap((by): Route[] => [
    { path: `/api/lookup/${by}`, access: 'api.lookup' },
    { path: `/api/lookup/${by}/links`, access: 'api.lookup' },
  ]),
  { path: '/api/lookup', access: 'api.lookup' },
  { path: '/api/leaderboard', access: 'api.leaderboard' },
  { path: '/api/key', access: 'any key', isFree: true },
  ...[
    '/healthz',
    '/readyz',
    '/metrics',
    '/.well-known/security.txt',
    '/openapi.json',
    '/docs',
    '/docs.md',
    '/docs/style.css',
    '/docs/try',
    '/docs/try/swagger-ui.js',
    '/docs/try/swagger-ui.css',
    '/',
  ].map((path): Route => ({ path, access: 'anyone' })),
];

/** The query that a route needs for a 200. */
const QUERIES: Record<string, string> = { '/api/lookup': `?username=${SUBJECT.username}` };

/** A path (with a query if needed) that a route answers with 200 once {@link SUBJECT} is imported. */
export function pathOf(route: Pick<Route, 'path'>): string {
  return (route.path + (QUERIES[route.path] ?? ''))
    .replace(':username', SUBJECT.username)
    .replace(':uid', String(SUBJECT.id))
    .replace(':authId', encodeURIComponent(SUBJECT.authId));
}

/** The routes that require a key. */
export const KEY_ROUTES = ROUTES.filter((route) => route.access !== 'anyone');

/** Inserts the subject, and a key with both permissions and ample limits; returns its secret. */
export async function prepare(deps: Deps): Promise<string> {
  insertProfile(deps.db, { ...SUBJECT, aliases: ['lovelace'] });
  return (await keyFor(deps, ['1000000/1s'])).secret;
}

let holders = 1_000_000;

/** Issues a key of a new profile with these rate limits and, by default, both permissions. */
export async function keyFor(
  deps: Deps,
  rateLimits: readonly string[],
  permissions: readonly Permission[] = ['api.lookup', 'api.leaderboard'],
) {
  const id = insertProfile(deps.db, { id: ++holders, banned: false });
  const limits = rateLimits.map(parseRateLimit);
  return issue(deps, { profile: `user${id}`, permissions }, { rateLimits: limits });
}

/** Expects a well-formed refusal with this status and code; returns its sentence. */
export async function expectRefused(answer: Response, status: number, code: ErrorCode): Promise<string> {
  const text = await answer.text();
  expect([answer.status, answer.headers.get('x-error-code'), text]).toEqual([status, code, text]);
  expect(refusalOf(code).status).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('x-request-id')).toMatch(/^[0-9A-Za-z]{12}-[0-9a-z]+$/);
  expect(answer.headers.has('access-control-allow-origin')).toBe(false);
  const { error } = JSON.parse(text);
  expect(text).toBe(JSON.stringify({ error }));
  // One sentence for a person: it ends with a full stop and contains nothing technical.
  expect(error).toMatch(/^\S.*[.]$/);
  expect(error).not.toMatch(/SQL|\bat \/|Error:|plk_|undefined/);
  return error;
}

/** Expects a well-formed refusal with this status, a documented code and these headers; returns its sentence. */
export async function expectRefusal(
  answer: Response,
  status: number,
  headers: Record<string, string | RegExp | null> = {},
): Promise<string> {
  const code = DOCUMENTED_CODES.find((each) => each === answer.headers.get('x-error-code'));
  for (const [name, value] of Object.entries(headers)) {
    const shown = answer.headers.get(name);
    if (value instanceof RegExp) expect(shown ?? `no ${name}`).toMatch(value);
    else expect([name, shown]).toEqual([name, value]);
  }
  return expectRefused(answer, status, code ?? 'internal');
}

/** A page or form: who may use it, and the fields of a form that a test may send. */
export type PageRoute = { method: 'GET' | 'POST'; path: string; who: 'anyone' | 'signed in' | 'owner' | 'admin' };

const get = (path: string, who: PageRoute['who']): PageRoute => ({ method: 'GET', path: `/developers${path}`, who });
const post = (path: string, who: PageRoute['who']): PageRoute => ({ method: 'POST', path: `/developers${path}`, who });

/** All pages and forms. A test compares them with the application's own list. */
export const PAGES: readonly PageRoute[] = [
  get('', 'anyone'),
  ...[get('/sign-in', 'anyone'), post('/sign-in', 'anyone')],
  ...[get('/sign-in/code', 'anyone'), post('/sign-in/code', 'anyone')],
  ...[get('/enter', 'anyone'), post('/enter', 'anyone')],
  ...[get('/found', 'anyone'), post('/found', 'anyone')],
  post('/sign-out', 'anyone'),
  get('/sessions', 'signed in'),
  ...[post('/sessions/end-all', 'signed in'), post('/sessions/:id/end', 'signed in')],
  get('/keys', 'owner'),
  ...[get('/keys/new', 'owner'), post('/keys/new', 'owner')],
  get('/keys/:identifier', 'owner'),
  ...['rename', 'withdraw', 'revoke'].flatMap((act) => [
    get(`/keys/:identifier/${act}`, 'owner'),
    post(`/keys/:identifier/${act}`, 'owner'),
  ]),
  ...[get('/enrol', 'anyone'), post('/enrol', 'anyone')],
  ...[get('/admin/sign-in', 'anyone'), post('/admin/sign-in', 'anyone')],
  ...[get('/admin', 'admin'), post('/admin/decide', 'admin')],
  get('/admin/keys', 'admin'),
  ...[get('/admin/keys/:identifier', 'admin'), post('/admin/keys/:identifier/decide', 'admin')],
  get('/admin/people', 'admin'),
  ...[post('/admin/people/passkeys', 'admin'), post('/admin/people/passkeys/:id/remove', 'admin')],
  ...[get('/admin/log', 'admin'), get('/admin/overview', 'admin')],
];
