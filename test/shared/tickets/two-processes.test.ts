import { describe, expect, test } from 'bun:test';
import type { Purpose } from '../../../shared/sessions-file/schema.ts';
import { writeSessions } from '../../../shared/sessions-file/sessions-file.ts';
import { hashOf } from '../../../shared/sessions-file/tokens.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { requestCode } from '../../../shared/sign-in/codes.ts';
import { rulesOf } from '../../../shared/tickets/purposes.ts';
import { makeTicket } from '../../../shared/tickets/tickets.ts';
import { importLines } from '../../support/import.ts';
import { CLIENT, countingCodes, openerFor, testAccess, ticketFor } from '../../support/portal/access.ts';
import { countSignInRows } from '../../support/portal/sessions-rows.ts';
import { startTwo, textOf } from '../../support/portal/sign-in-acts.ts';
import { rounds } from '../../support/rounds.ts';

// If two processes use the same secret at the same time, only one succeeds: for a purpose with tries and one without, since
// tickets.test.ts shows that all others follow the same rules, and for sign-ins.

const GRACE: Signed = { kind: 'admin', name: 'Grace', generation: 1 };
const ADA = { id: 1, username: 'ada', email: 'ada@example.org' };
const TURNS = rounds(15);

const codes = countingCodes();
const access = testAccess({ random: codes.random });
await importLines(access, [ADA]);
const two = await startTwo(access.config.databasePath);

describe.each<Purpose>(['sign-in code', 'enrolment'])('%s', (purpose) => {
  test('only one of two processes uses it', async () => {
    for (let turn = 0; turn < TURNS; turn++) {
      access.sessions.sqlite.run('DELETE FROM tickets');
      const key = { purpose, foundBy: hashOf(`${purpose} ${turn}`), proof: hashOf('right') };
      writeSessions(access.sessions, (db) => makeTicket(db, key, { signed: GRACE }, access.clock.nowMs()));
      expect((await two.both('use', textOf(key))).sort()).toEqual([false, true]);
    }
  });

  const { tries } = rulesOf(purpose);
  if (tries !== null)
    test('two processes together have as many tries as one', async () => {
      const key = { purpose, foundBy: hashOf(purpose), proof: hashOf('right') };
      writeSessions(access.sessions, (db) => makeTicket(db, key, { signed: GRACE }, access.clock.nowMs()));
      for (let turn = 0; turn < Math.ceil(tries / 2); turn++)
        await two.both('use', textOf({ ...key, proof: hashOf('wrong') }));
      expect(await two.one.act('use', textOf(key))).toBe(false);
    });
});

describe('only one of two processes signs in', () => {
  const opener = openerFor(access);

  test.each<[string, () => ReturnType<typeof two.both>]>([
    [
      'by a mailed code',
      () => {
        const ask = { name: 'ada', address: ADA.email, browserSecret: null, knownBrowser: null, client: CLIENT };
        const { browserSecret } = requestCode(access, ask);
        return two.both('enter', { browserSecret, knownBrowser: null, code: codes.lastCode(), client: CLIENT });
      },
    ],
    ['by a hand-over', () => two.both('hand over', ticketFor(access, ADA.id, opener))],
  ])('%s', async (_way, signIn) => {
    const before = countSignInRows(access.sessions);
    for (let turn = 0; turn < TURNS; turn++) {
      for (const table of ['mail_counts', 'tickets']) access.sessions.sqlite.run(`DELETE FROM ${table}`);
      expect((await signIn()).sort()).toEqual([false, true]);
    }
    expect(countSignInRows(access.sessions) - before).toBe(TURNS);
  });
});
