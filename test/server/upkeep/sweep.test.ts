import type { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { startSweepTimer } from '../../../server/upkeep/sweep.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import { requestCode } from '../../../shared/sign-in/codes.ts';
import { eventually } from '../../support/eventually.ts';
import { importLines } from '../../support/import.ts';
import { CLIENT } from '../../support/portal/access.ts';
import { pageWorld, signInOwner } from '../../support/portal/pages.ts';
import { countSignInRows, countTickets } from '../../support/portal/sessions-rows.ts';

const ADA = { id: 7, username: 'ada', email: 'ada@example.org' };

const count = (sqlite: Pick<Database, 'query'>, table: string) =>
  (sqlite.query(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n;

test('expired rows are deleted repeatedly, from the log of the file too, and a failure is logged and retried', async () => {
  const { access, clock, services, events } = pageWorld();
  await importLines(access, [ADA]);
  const { sqlite } = access.sessions;
  const timer = startSweepTimer({ open: () => services }, services.report, access.config.databasePath, 10);
  try {
    requestCode(access, { name: 'ada', address: ADA.email, browserSecret: null, knownBrowser: null, client: CLIENT });
    signInOwner(access, ADA.id);
    clock.advance(600_000);
    await eventually(() => countTickets(sqlite, 'sign-in code') === 0);
    expect([countSignInRows(sqlite), count(sqlite, 'mail_counts')]).toEqual([1, 4]);
    sqlite.run('ALTER TABLE mail_counts RENAME TO elsewhere');
    clock.advance(38 * DAY_MS);
    await eventually(() => events.length > 0);
    expect(events[0]).toEqual(['warn', 'Expired sessions could not be deleted.']);
    sqlite.run('ALTER TABLE elsewhere RENAME TO mail_counts');
    await eventually(() => countSignInRows(sqlite) === 0);
    const { size } = Bun.file(`${access.sessions.path}-wal`);
    expect(size).toBe(0);
  } finally {
    await timer.stop();
  }
});
