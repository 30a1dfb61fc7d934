import type { Permission } from '../../shared/db/schema.ts';

// All routes of the server, and who may use them.

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

/** A page or form, and who may use it. */
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
