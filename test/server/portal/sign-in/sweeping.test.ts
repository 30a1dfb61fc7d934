import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { startSweeping } from '../../../../server/portal/sign-in/sweeping.ts';
import { DAY_MS } from '../../../../shared/clock.ts';
import { closeSessionsFile, openSessionsFile } from '../../../../shared/sessions-file/sessions-file.ts';
import { askCode } from '../../../../shared/sign-in/codes.ts';
import { serverOn } from '../../../support/http.ts';
import { importLines } from '../../../support/import.ts';
import { CLIENT } from '../../../support/portal/access.ts';
import { fetchPage, pageWorld, signInOwner } from '../../../support/portal/pages.ts';
import { countSignInRows, countTickets } from '../../../support/portal/sessions-rows.ts';
import { testClock, testDeps } from '../../../support/world.ts';

const ADA = { id: 7, username: 'ada', email: 'ada@example.org' };

/** How many rows a statement counts. */
const count = (sqlite: Pick<Database, 'query'>, table: string) =>
  (sqlite.query(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n;

/** Looks again and again until something is so. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(10);
}

test('a server with visitors deletes what belongs to nobody any more', async () => {
  const deps = { ...testDeps(), clock: testClock() };
  await importLines(deps, [ADA]);
  const { databasePath } = deps.config;
  const sessions = openSessionsFile(databasePath);
  signInOwner({ ...deps, sessions }, ADA.id);
  closeSessionsFile(sessions);
  deps.db.$client.run("UPDATE profiles SET email = 'other@example.org'");
  const server = await serverOn(deps);
  expect((await fetchPage(server, '/developers')).status).toBe(200);
  using file = new Database(`${databasePath}.sessions`, { readonly: true });
  await until(() => countSignInRows(file, 'browser') === 0);
  await server.stop();
});

test('what has ended is deleted again and again, client addresses 30 days after a session’s end, in the log behind the file too; a fault is told and tried again', async () => {
  const { access, clock, services, events } = pageWorld();
  await importLines(access, [ADA]);
  const { sqlite } = access.sessions;
  const timer = startSweeping(services, 10);
  try {
    askCode(access, { name: 'ada', address: ADA.email, browserSecret: null, knownBrowser: null, client: CLIENT });
    signInOwner(access, ADA.id);
    clock.advance(600_000);
    await until(() => countTickets(sqlite, 'sign-in code') === 0);
    expect([countSignInRows(sqlite, 'browser'), count(sqlite, 'mail_counts')]).toEqual([1, 4]);
    sqlite.run('ALTER TABLE mail_counts RENAME TO elsewhere');
    clock.advance(38 * DAY_MS);
    await until(() => events.length > 0);
    expect(events[0]).toEqual(['warn', 'Expired sessions could not be deleted.']);
    sqlite.run('ALTER TABLE elsewhere RENAME TO mail_counts');
    await until(() => countSignInRows(sqlite, 'browser') === 0);
    const { size } = Bun.file(`${access.sessions.path}-wal`);
    expect(size).toBe(0);
  } finally {
    clearInterval(timer);
  }
});
