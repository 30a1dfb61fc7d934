import { beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { keysText } from '../../../cli/keys/print.ts';
import { ageText } from '../../../cli/terminal/output.ts';
import { rejectKey } from '../../../shared/keys/life/lifecycle.ts';
import { keyHistory, listKeys, showKey } from '../../../shared/keys/view.ts';
import { onBox } from '../../support/actors.ts';
import { mailedSecrets, request } from '../../support/keys.ts';
import { runCommand } from '../../support/machine/command.ts';
import { KEY, openTerminal } from '../../support/machine/terminal.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';

const clock = testClock(Date.now() - 3 * 86_400_000 - 60_000);

/** Three pending requests: of Ada, three days old, of Bob, five hours old, and a new one of Ada, who also has a rejected one. */
async function world() {
  const deps = testDeps({ clock: testClock(clock.nowMs()) });
  insertProfile(deps.db, { id: 1, username: 'ada' });
  insertProfile(deps.db, { id: 2, username: 'bob' });
  const rejected = await request(deps, { profile: 'ada', name: 'Too early' });
  await rejectKey(deps, { identifier: rejected, reason: 'Not yet.', by: onBox('admin') });
  const first = await request(deps, { profile: 'ada', name: 'Ada’s bot' });
  (deps.clock as ReturnType<typeof testClock>).advance(67 * 3_600_000);
  const second = await request(deps, { profile: 'bob', name: 'Bob’s bot' });
  (deps.clock as ReturnType<typeof testClock>).advance(5 * 3_600_000);
  const third = await request(deps, { profile: 'ada', name: 'Ada’s second' });
  const variables = { DATABASE_PATH: deps.config.databasePath, MAIL_URL: `file:${join(deps.folder, 'mail')}` };
  const walk = (...words: string[]) => openTerminal(['keys', 'approve', ...words], variables);
  return { deps, rejected, first, second, third, variables, walk };
}

let w: Awaited<ReturnType<typeof world>>;
beforeEach(async () => {
  w = await world();
});

const stateOf = (identifier: string) => showKey(w.deps, identifier).state;

describe('keys list', () => {
  test('shows the age of requests, the oldest first', async () => {
    const { stdout } = await runCommand(['keys', 'list', '--state', 'pending'], { variables: w.variables });
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3));
    expect(rows.slice(0, 3)).toEqual([
      ['Identifier', 'State', 'Age'],
      [w.first, 'pending', '3d'],
      [w.second, 'pending', '5h'],
    ]);
  });

  test('shows ages rounded down to one unit, and only if a request is pending', () => {
    const at = (seconds: number) => ageText('2026-01-01T00:00:00.000Z', Date.parse('2026-01-01') + seconds * 1000);
    expect([0, 59, 60, 3_599, 3_600, 86_399, 86_400, 40 * 86_400].map(at)).toEqual([
      '0s',
      '59s',
      '1m',
      '59m',
      '1h',
      '23h',
      '1d',
      '40d',
    ]);
    expect(at(-5)).toBe('0s');
    expect(keysText(listKeys(w.deps, { states: ['rejected'] }), 0)).not.toContain('Age');
  });
});

describe('keys approve without an identifier', () => {
  test('shows each request with its history and the owner’s other keys, to approve, reject or skip', async () => {
    const terminal = w.walk();
    await terminal.see('Request 1 of 3, 3d old');
    await terminal.see('Ada’s bot');
    await terminal.see('requested');
    await terminal.see('Other keys of ada:');
    await terminal.see(w.rejected);
    await terminal.answer('What now?', KEY.enter);
    await terminal.answer('Permissions', KEY.enter);
    await terminal.answer('Rate limits:', KEY.enter);
    await terminal.answer('Expires:', KEY.enter);
    await terminal.answer(/Approve key \w{8}\?/, `y${KEY.enter}`);
    await terminal.see(`${w.first} Active`);
    await terminal.see('Request 2 of 3, 5h old');
    await terminal.see('Other keys of bob: none');
    await terminal.answer('What now?', `${KEY.down}${KEY.enter}`);
    await terminal.see('Reason:');
    await terminal.answer('The owner gets it by e-mail.', `Please say more.${KEY.enter}`);
    await terminal.answer(/Reject the request for key \w{8}\?/, `y${KEY.enter}`);
    await terminal.see(`${w.second} rejected`);
    await terminal.see('Request 3 of 3');
    await terminal.answer('What now?', `${KEY.down}${KEY.down}${KEY.enter}`);
    await terminal.see('2 of 3 requests decided.');
    expect(await terminal.exited).toBe(0);
    expect([w.first, w.second, w.third].map(stateOf)).toEqual(['Active', 'rejected', 'pending']);
    expect(keyHistory(w.deps, w.second).at(-1)?.detail).toEqual({ reason: 'Please say more.' });
    const [secret = ''] = mailedSecrets(w.deps, w.first);
    expect(secret).not.toBe('');
    expect(terminal.screen()).not.toContain(secret.slice(13));
  });

  test('asks again if a decision is declined, and can be stopped', async () => {
    const terminal = w.walk('--permission', 'api.lookup', '--rate-limit', '1/1s', '--expires', '1d');
    await terminal.answer('What now?', KEY.enter);
    await terminal.answer(/Approve key \w{8}\?/, `n${KEY.enter}`);
    await terminal.answer('❯ Approve', `${KEY.down}${KEY.enter}`);
    await terminal.answer('Reason:', `No.${KEY.enter}`);
    await terminal.answer(/Reject the request for key \w{8}\?/, KEY.enter);
    await terminal.answer('❯ Approve', `${KEY.down}${KEY.down}${KEY.down}${KEY.enter}`);
    await terminal.see('0 of 3 requests decided.');
    expect(await terminal.exited).toBe(0);
    expect(listKeys(w.deps, { states: ['pending'] })).toHaveLength(3);
  });

  test('says after Ctrl-C that earlier decisions remain in effect (exit code 130)', async () => {
    const terminal = w.walk('--permission', 'api.lookup', '--rate-limit', '1/1s', '--expires', '1d');
    await terminal.answer('What now?', KEY.enter);
    await terminal.answer(/Approve key \w{8}\?/, `y${KEY.enter}`);
    await terminal.see('Request 2 of 3');
    await terminal.answer('What now?', KEY.ctrlC);
    expect(await terminal.exited).toBe(130);
    expect(terminal.screen()).toContain('earlier decisions remain in effect');
    expect([w.first, w.second].map(stateOf)).toEqual(['Active', 'pending']);
  });

  test('reports a failed decision, continues, and ends with its exit code', async () => {
    const variables = { ...w.variables, MAIL_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'keys@example.net' };
    const words = ['keys', 'approve', '--permission', 'api.lookup', '--rate-limit', '1/1s', '--expires', '1d'];
    const terminal = openTerminal(words, variables);
    await terminal.see('Warning: No secret can be mailed now.');
    await terminal.answer('What now?', KEY.enter);
    await terminal.see('refused the connection');
    await terminal.see('Request 2 of 3');
    await terminal.answer('What now?', `${KEY.down}${KEY.down}${KEY.down}${KEY.enter}`);
    expect(await terminal.exited).toBe(75);
    expect(terminal.screen()).toContain('1 decision failed');
    expect(stateOf(w.first)).toBe('pending');
  });

  test('is refused without a terminal, or with --yes (exit code 2)', async () => {
    const off = await runCommand(['keys', 'approve'], { variables: w.variables });
    expect(off).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('identifier is missing') });
    expect(await w.walk('--yes').exited).toBe(2);
    expect(listKeys(w.deps, { states: ['pending'] })).toHaveLength(3);
  });

  test('says so if no requests are pending', async () => {
    for (const { identifier } of listKeys(w.deps, { states: ['pending'] })) {
      await rejectKey(w.deps, { identifier, reason: 'No.', by: onBox('admin') });
    }
    const terminal = w.walk();
    await terminal.see('No requests are pending.');
    expect(await terminal.exited).toBe(0);
  });
});
