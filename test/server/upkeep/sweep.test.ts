import { expect, test } from 'bun:test';
import { startSweepTimer } from '../../../server/upkeep/outbox.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import { requestCode } from '../../../shared/sign-in/codes.ts';
import { pageWorld, signInOwner } from '../../support/pages.ts';
import { CLIENT, countSignInRows, countTickets } from '../../support/people.ts';
import { importLines } from '../../support/profiles.ts';
import { eventually } from '../../support/world.ts';

const ADA = { id: 7, username: 'ada', email: 'ada@example.org' };

test('expired rows are deleted repeatedly, and a failure is logged and retried', async () => {
  const { access, clock, services, events } = pageWorld();
  await importLines(access, [ADA]);
  const { db } = access;
  const pace = { firstAfterMs: 10, everyMs: 10 };
  const timer = startSweepTimer(services, services.report, pace);
  try {
    requestCode(access, services.codes, { name: 'ada', address: ADA.email, browserSecret: null, client: CLIENT });
    signInOwner(access, ADA.id);
    clock.advance(600_000);
    await eventually(() => countTickets(db, 'code') === 0);
    expect(countSignInRows(db)).toBe(1);
    db.$client.run('ALTER TABLE sign_ins RENAME TO elsewhere');
    await eventually(() => events.length > 0);
    expect(events[0]).toEqual(['warn', 'Expired sessions could not be deleted.']);
    db.$client.run('ALTER TABLE elsewhere RENAME TO sign_ins');
    clock.advance(DAY_MS);
    await eventually(() => countSignInRows(db) === 0);
  } finally {
    await timer.stop();
  }
});
