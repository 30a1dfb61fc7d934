import { expect, test } from 'bun:test';
import { systemClock } from '../../../shared/clock.ts';
import { openBare } from '../../../shared/db/connect.ts';
import { openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import { sessionsPath } from '../../../shared/sessions-file/sessions-path.ts';
import { eventually } from '../../support/eventually.ts';
import { serverOn } from '../../support/http.ts';
import { importLines } from '../../support/import.ts';
import { DESCRIPTION, request } from '../../support/keys.ts';
import { fetchPage, signInOwner } from '../../support/portal/pages.ts';
import { testClock, testDeps } from '../../support/world.ts';

// Pages of a server while another process, such as an import, holds the write lock of a file.

const deps = { ...testDeps(), clock: testClock(systemClock.nowMs()) };
const server = await serverOn(deps);
let owners = 0;

/** A signed-in owner of their own with a pending key; `hold` locks a file, and returns a function that unlocks it. */
async function lockedWorld() {
  const id = ++owners;
  const owner = { username: `user${id}`, email: `user${id}@example.org` };
  await importLines(deps, [{ id, ...owner }]);
  const identifier = await request(deps, { profile: owner.username });
  const sessions = openSessionsFile(deps.config.databasePath);
  const cookie = signInOwner({ ...deps, clock: systemClock, sessions }, id);
  sessions.sqlite.close();
  const headers = { cookie };
  const show = async (path: string) => {
    const answer = await fetchPage(server, path, { headers });
    return { status: answer.status, page: await answer.text() };
  };
  // The thread has started, and has recorded this use of the session.
  await eventually(async () => (await show('/developers/keys')).status === 200);
  const send = (path: string, form: Record<string, string>) =>
    fetchPage(server, path, { method: 'POST', headers, body: new URLSearchParams(form) });
  const hold = (which: 'database' | 'sessions') => {
    const { databasePath } = deps.config;
    const other = openBare(which === 'database' ? databasePath : sessionsPath(databasePath), 'write');
    other.run('BEGIN IMMEDIATE');
    return () => {
      other.run('ROLLBACK');
      other.close();
    };
  };
  const keyPath = `/developers/keys/${identifier}`;
  const signIn = { name: owner.username, address: owner.email, next: '' };
  /** For each file, the path and fields of a form that writes to it, and the page that follows. */
  const forms = {
    database: [`${keyPath}/rename`, { name: 'Another name' }, keyPath],
    sessions: ['/developers/sign-in', signIn, '/developers'],
  } as const;
  return { forms, show, send, hold };
}

for (const file of ['database', 'sessions'] as const) {
  test(`${file}: a form waits 2 seconds for the lock and is then refused with what was typed, while pages are still shown`, async () => {
    const { forms, show, send, hold } = await lockedWorld();
    const [path, form] = forms[file];
    const release = hold(file);
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
    expect([answer.status, answer.headers.get('x-error-code')]).toEqual([503, 'busy']);
    expect(await answer.text()).toContain('What you typed is still here.');
    expect(tookMs).toBeGreaterThanOrEqual(2_000);
    expect(tookMs).toBeLessThan(5_000);
    // If the forms held up other pages, at most the one before them would be shown.
    expect(shown).toBeGreaterThan(1);
    expect((await send(path, form)).status).toBe(303);
  }, 20_000);

  test(`${file}: waiting forms are carried out exactly once when the lock is released`, async () => {
    const { forms, show, send, hold } = await lockedWorld();
    const [path, form, next] = forms[file];
    const release = hold(file);
    const sent = [send(path, form), ...(file === 'database' ? [send('/developers/keys/new', KEY)] : [])];
    let answered = 0;
    for (const one of sent) void one.then(() => answered++);
    // The thread answers requests that were sent later, so the forms have arrived there.
    for (let n = 0; n < 5; n++) expect((await show('/developers/keys')).status).toBe(200);
    expect(answered).toBe(0);
    release();
    for (const answer of await Promise.all(sent)) expect(answer.status).toBe(303);
    expect((await show(next)).status).toBe(200);
    const { page } = await show('/developers/keys');
    if (file === 'database')
      expect([page.split('Another name').length, page.split('A new key').length]).toEqual([2, 2]);
  }, 20_000);
}

test('a form that needs both files waits 2 seconds in total, not for each of them', async () => {
  const { forms, send, hold } = await lockedWorld();
  const [path, form] = forms.database;
  const releases = { sessions: hold('sessions'), database: hold('database') };
  const endOf = async (sent: ReturnType<typeof send>) => {
    const { status, headers } = await sent;
    return { outcome: [status, headers.get('x-error-code')], atMs: systemClock.monotonicMs() };
  };
  const first = endOf(send(path, form));
  await Bun.sleep(1_900);
  releases.sessions();
  // This form waits for the database alone. If the first one still did, too, both would end together.
  const second = await endOf(send(path, form));
  releases.database();
  const { outcome, atMs } = await first;
  expect([outcome, second.outcome]).toEqual([
    [503, 'busy'],
    [503, 'busy'],
  ]);
  expect(second.atMs - atMs).toBeGreaterThan(1_000);
}, 20_000);

const KEY = { name: 'A new key', description: DESCRIPTION, permissions: 'api.lookup' };
