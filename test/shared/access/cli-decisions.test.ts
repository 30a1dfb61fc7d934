import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { beginDecision, type SignedAdmin } from '../../../shared/access/assertions.ts';
import {
  askDecision,
  confirmAskedDecision,
  MOST_WAITING,
  readAskedDecision,
} from '../../../shared/access/cli-decisions.ts';
import type { Decision } from '../../../shared/access/decision.ts';
import { beginPersonToken, type PersonToken, readPersonToken } from '../../../shared/access/person-tokens.ts';
import { systemClock } from '../../../shared/clock.ts';
import { shownKey } from '../../../shared/keys/shown.ts';
import { CLIENT, testAccess } from '../../support/access.ts';
import { enrol, signIn } from '../../support/admins.ts';
import { importLines } from '../../support/import.ts';
import { issue } from '../../support/keys.ts';
import { startLineChild } from '../../support/line-child.ts';
import { rounds } from '../../support/rounds.ts';
import { noteMail } from '../../support/secret-search.ts';
import { testClock } from '../../support/world.ts';

test('after the clock was set back, a decision of before does not hide the one that was asked for since', async () => {
  const clock = testClock();
  const access = testAccess({ clock, variables: { PUBLIC_URL: 'http://localhost:3000' } });
  await importLines(access, [{ id: 1, username: 'ada', email: 'ada@example.org' }]);
  const { identifier } = await issue(access, { profile: 'ada' });
  const { signed } = signIn(access, enrol(access, 'Grace'));
  const made = beginPersonToken(access, signed, { machine: 'laptop', client: CLIENT });
  noteMail(made.token);
  const token = readPersonToken(access, made.token) as PersonToken & { signed: SignedAdmin };
  const decision: Decision = {
    operation: 'revoke',
    identifier,
    reason: 'Leaked.',
    shown: shownKey(access, identifier),
  };
  const ask = () => (askDecision(access, token, decision, CLIENT.address) as { id: string }).id;
  const before = ask();
  clock.advance(-2 * 60_000);
  const since = ask();
  expect(since).not.toBe(before);
  for (let time = 0; time <= MOST_WAITING; time++) expect(ask()).toBe(since);
});

test('of two processes that carry a decision out at once one may', async () => {
  const access = testAccess({ clock: systemClock, variables: { PUBLIC_URL: 'http://localhost:3000' } });
  await importLines(access, [{ id: 1, username: 'ada', email: 'ada@example.org' }]);
  const { identifier } = await issue(access, { profile: 'ada' });
  const grace = enrol(access, 'Grace');
  const { signed } = signIn(access, grace);
  const made = beginPersonToken(access, signed, { machine: 'laptop', client: CLIENT });
  noteMail(made.token);
  const token = readPersonToken(access, made.token) as PersonToken & { signed: SignedAdmin };
  const file = join(import.meta.dir, 'decide-child.ts');
  const children = await Promise.all([0, 1].map(() => startLineChild(file, access.config.databasePath)));
  const shown = shownKey(access, identifier);
  for (let round = 0; round < rounds(20); round++) {
    const decision: Decision = { operation: 'revoke', identifier, reason: `Reason ${round}.`, shown };
    const asked = askDecision(access, token, decision, CLIENT.address);
    const options = beginDecision(access, signed, readAskedDecision(access, signed, asked.id).decision);
    confirmAskedDecision(access, signed, asked.id, grace.assert(options.challenge));
    for (const { send } of children) send(JSON.stringify({ token, decision }));
    const said = await Promise.all(children.map(({ next }) => next()));
    // The other one comes in its midst, or afterwards, where the same is another decision.
    expect(said.filter((one) => one === 'taken').length).toBe(1);
    expect(said.every((one) => ['taken', 'busy', 'asked'].includes(one ?? ''))).toBe(true);
    access.sessions.sqlite.run('DELETE FROM challenges');
  }
}, 30_000);
