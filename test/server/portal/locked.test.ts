import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { systemClock } from '../../../shared/clock.ts';
import { openAsItIs } from '../../../shared/db/connect.ts';
import { keyRevision } from '../../../shared/keys/record.ts';
import { serverOn } from '../../support/http.ts';
import { DESCRIPTION, request, waitingWhile } from '../../support/keys.ts';
import { ADA, fetchPage, SAME_ORIGIN, servePages, signInOwner } from '../../support/pages.ts';
import { changeByHand, importLines } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';
import { storedIn } from './stored.ts';

// Pages of a server while another process, such as an import, holds the write lock of a file.

const deps = { ...testDeps(), clock: testClock(systemClock.nowMs()) };
const server = await serverOn(deps);
let owners = 0;

const KEY = { name: 'A new key', description: DESCRIPTION, permissions: 'api.lookup' };

/** A signed-in owner of their own with a pending key; `hold` locks the database, and returns a function that unlocks it. */
async function lockedWorld() {
  const id = ++owners;
  const owner = { username: `user${id}`, email: `user${id}@example.org` };
  await importLines(deps, [{ id, ...owner }]);
  const identifier = await request(deps, { profile: owner.username });
  const cookie = signInOwner({ ...deps, clock: systemClock }, id);
  const headers = { cookie };
  const show = (path: string) => fetchPage(server, path, { headers });
  expect((await show('/developers/keys')).status).toBe(200);
  const send = (path: string, form: Record<string, string>) =>
    fetchPage(server, path, { method: 'POST', headers, body: new URLSearchParams(form) });
  const hold = () => {
    const other = openAsItIs(deps.config.databasePath, 'write');
    other.run('BEGIN IMMEDIATE');
    return () => {
      other.run('ROLLBACK');
      other.close();
    };
  };
  const keyPath = `/developers/keys/${identifier}`;
  const signIn = { name: owner.username, address: owner.email, next: '' };
  /** The paths and fields of forms, and the pages that follow. */
  const forms = {
    'a decision': [`${keyPath}/rename`, { name: 'Another name', shown: keyRevision(deps.db, identifier) }, keyPath],
    'a sign-in': ['/developers/sign-in', signIn, '/developers'],
  } as const;
  return { forms, cookie, show, send, hold };
}

for (const file of ['a decision', 'a sign-in'] as const) {
  test(`${file}: a form waits 2 seconds for the lock and is then refused with what was typed, while pages are still shown`, async () => {
    const { forms, show, send, hold } = await lockedWorld();
    const [path, form] = forms[file];
    const release = hold();
    const startedAtMs = systemClock.monotonicMs();
    let isDone = false;
    const sent = Promise.all([send(path, form), send(path, form)]).finally(() => {
      isDone = true;
    });
    let shown = 0;
    while (!isDone) {
      expect((await show('/developers/keys')).status).toBe(200);
      if (!isDone) shown++;
      await Bun.sleep(400);
    }
    const [answer] = await sent;
    const tookMs = systemClock.monotonicMs() - startedAtMs;
    release();
    expect([answer.status, answer.refusal]).toEqual([503, 'busy']);
    expect(answer.body).toContain('What you typed is still here.');
    expect(tookMs).toBeGreaterThanOrEqual(2_000);
    expect(tookMs).toBeLessThan(5_000);
    // If the forms held up other pages, at most the one before them would be shown.
    expect(shown).toBeGreaterThan(1);
    expect((await send(path, form)).status).toBe(303);
  }, 20_000);

  test(`${file}: waiting forms are carried out exactly once when the lock is released`, async () => {
    const { forms, show, send, hold } = await lockedWorld();
    const [path, form, next] = forms[file];
    const release = hold();
    const sent = [send(path, form), ...(file === 'a decision' ? [send('/developers/keys/new', KEY)] : [])];
    let answered = 0;
    for (const one of sent) void one.then(() => answered++);
    // Requests that were sent later are answered, so the forms have arrived.
    for (let n = 0; n < 5; n++) expect((await show('/developers/keys')).status).toBe(200);
    expect(answered).toBe(0);
    release();
    for (const answer of await Promise.all(sent)) expect(answer.status).toBe(303);
    expect((await show(next)).status).toBe(200);
    const { body } = await show('/developers/keys');
    if (file === 'a decision')
      expect([body.split('Another name').length, body.split('A new key').length]).toEqual([2, 2]);
  }, 20_000);
}

// test/shared/keys tries all operations and changes.
test.each([
  ['request', () => '/new', KEY],
  ['rename', (identifier: string) => `/${identifier}/rename`, { name: 'Mine' }],
] as [string, (identifier: string) => string, Record<string, string>][])(
  '%s: if the address changes while the form waits for the lock, the page says that the owner is signed out, and nothing is done',
  async (_, pathOf, form) => {
    const { access, server, cookie, get, post } = await servePages();
    const identifier = await request(access, { profile: ADA.username });
    const traces = () => storedIn(access.db, ['api_keys', 'events']);
    let before = '';
    const change = () => {
      changeByHand(access, ADA.username, { email: 'new@example.org' });
      before = traces();
    };
    // The first transaction finds out whether the database is locked, before it is read who is signed in.
    let begun = 0;
    Object.assign(server.service.deps, { db: waitingWhile(access, change, () => begun++ > 0).db });
    const answer = await post(`/developers/keys${pathOf(identifier)}`, form, cookie);
    expect(answer).toMatchObject({ status: 403, refusal: 'signed_out' });
    expect(answer.body).toContain('You are no longer signed in; nothing was done.');
    expect([before === '', traces()]).toEqual([false, before]);
    expect((await get('/developers/keys', cookie)).status).toBe(303);
  },
);

test('a form that takes longer than 2 seconds to arrive still waits for the lock', async () => {
  const { forms, cookie, show, hold } = await lockedWorld();
  const [path, fields, next] = forms['a decision'];
  const form = new URLSearchParams({ ...fields, name: 'Sent slowly' }).toString();
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: ${cookie}\r\nContent-Length: ${form.length}`;
  const headers = Object.entries(SAME_ORIGIN).map(([name, value]) => `${name}: ${value}`);
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = '';
  const socket = connect(server.port, '127.0.0.1');
  socket.on('data', (chunk) => (answer += chunk.toString()));
  socket.on('close', () => resolve(answer));
  socket.write(`${[head, ...headers].join('\r\n')}\r\n\r\n${form.slice(0, 5)}`);
  await Bun.sleep(2_100);
  const release = hold();
  socket.write(form.slice(5));
  await Bun.sleep(500);
  expect(answer).toBe('');
  release();
  expect(await promise).toStartWith('HTTP/1.1 303 ');
  expect((await show(next)).body).toContain('Sent slowly');
}, 20_000);
