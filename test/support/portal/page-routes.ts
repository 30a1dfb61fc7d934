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
