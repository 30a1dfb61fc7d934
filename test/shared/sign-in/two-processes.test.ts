import { expect, test } from 'bun:test';
import { createCodeDesk, requestCode } from '../../../shared/sign-in/codes.ts';
import { CLIENT, countingCodes, countSignInRows, openerFor, ticketFor } from '../../support/people.ts';
import { importLines } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { testDeps } from '../../support/world.ts';
import { startTwo } from './sign-in-acts.ts';

// If two processes use the same secret at the same time, only one succeeds.

const ADA = { id: 1, username: 'ada', email: 'ada@example.org' };
const TURNS = rounds(4);

const codes = countingCodes();
const access = testDeps({ random: codes.random });
await importLines(access, [ADA]);
const two = await startTwo(access.config.databasePath);
const opener = openerFor(access);

function askForCode() {
  const ask = { name: 'ada', address: ADA.email, browserSecret: null, client: CLIENT };
  const { browserSecret } = requestCode(access, createCodeDesk(access.clock), ask);
  return { browserSecret, code: codes.lastCode(), client: CLIENT };
}

test.each<[string, () => Promise<boolean[]>]>([
  ['a mailed code', () => two.both('enter', askForCode())],
  ['a hand-over', () => two.both('hand over', ticketFor(access, ADA.id, opener))],
])('only one of two processes signs in by %s', async (_way, signIn) => {
  const before = countSignInRows(access.db);
  for (let turn = 0; turn < TURNS; turn++) expect((await signIn()).sort()).toEqual([false, true]);
  expect(countSignInRows(access.db) - before).toBe(TURNS);
});

test('two processes together have as many tries as one', async () => {
  const right = askForCode();
  // Of six tries at once, one finds none left.
  for (let turn = 0; turn < 3; turn++) await two.both('enter', { ...right, code: 'ZZZZZZZZ' });
  expect(await two.both('enter', right)).toEqual([false, false]);
  const again = askForCode();
  for (let turn = 0; turn < 2; turn++) await two.both('enter', { ...again, code: 'ZZZZZZZZ' });
  expect((await two.both('enter', again)).filter(Boolean)).toHaveLength(1);
});

test('of two who add an admin of one name at once, one is refused', async () => {
  for (let turn = 0; turn < TURNS; turn++) {
    expect((await two.both('invite', `Grace${turn}`)).sort()).toEqual([false, true]);
  }
});
