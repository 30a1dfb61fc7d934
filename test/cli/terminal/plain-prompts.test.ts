import { beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { showKey } from '../../../shared/keys/view.ts';
import { DESCRIPTION, keysListed, request } from '../../support/keys.ts';
import { KEY, openTerminal } from '../../support/machine/terminal.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';

// A terminal with TERM=dumb can't move its cursor, so prompts are plain lines.

const deps = testDeps();
const mail = `file:${join(deps.folder, 'mail')}`;
let nextId = 1;
let profile = '';

beforeEach(() => {
  profile = `user${nextId}`;
  insertProfile(deps.db, { id: nextId++ });
});

const open = (...words: string[]) =>
  openTerminal(words, { DATABASE_PATH: deps.config.databasePath, MAIL_URL: mail, TERM: 'dumb', EDITOR: 'false' });

test('keys request prompts in plain lines, repeats a question after a refused answer, and reads lines up to a dot', async () => {
  const terminal = open('keys', 'request', '--profile', profile);
  await terminal.see('you can change it later. Up to 255 characters.)');
  terminal.type('Bot\n');
  await terminal.see('End it with a line that has only a dot.');
  terminal.type('Too short.\n.\n');
  await terminal.see('in 70 more characters');
  await terminal.see('Description (');
  terminal.type(`${DESCRIPTION}\n\nSecond line.\n.\n`);
  await terminal.see('Permissions: api.lookup, api.leaderboard');
  terminal.type('api.lokup\n');
  await terminal.see('Type one or both names');
  terminal.type('api.leaderboard\n');
  await terminal.see('Project URL (');
  terminal.type('\n');
  await terminal.see('Expected usage (');
  terminal.type('\n');
  await terminal.see('1) Send it');
  terminal.type('nine\n');
  await terminal.see('Type a number from 1 to');
  terminal.type('1\n');
  expect(await terminal.exited).toBe(0);
  expect(terminal.raw()).not.toContain('\u001b');
  expect(await keysListed(deps, { profile })).toMatchObject([
    { name: 'Bot', description: `${DESCRIPTION}\n\nSecond line.`, requestedPermissions: ['api.leaderboard'] },
  ]);
});

test('in keys approve, Enter accepts each suggested value, and the final question needs a yes', async () => {
  const identifier = await request(deps, { profile });
  for (const [answer, code, state] of [
    ['\n', 130, 'pending'],
    ['y\n', 0, 'Active'],
  ] as const) {
    const terminal = open('keys', 'approve', identifier);
    await terminal.see('Permissions');
    terminal.type('\n');
    await terminal.see('[60/1m 5000/1d] Enter keeps it.');
    terminal.type('\n');
    await terminal.see('Expires (');
    terminal.type('\n');
    await terminal.see(/Approve key \w{8}\? \(y\/N\)/);
    terminal.type(answer);
    expect(await terminal.exited).toBe(code);
    expect(showKey(deps, identifier).state).toBe(state);
    expect(terminal.raw()).not.toContain('\u001b');
  }
});

test('keys check does not show the secret', async () => {
  const terminal = open('keys', 'check');
  await terminal.see('input is hidden');
  terminal.type(`plk_k7Qm2XaB_hunter5${KEY.enter}`);
  expect(await terminal.exited).toBe(1);
  expect(terminal.screen()).toContain('mistyped');
  expect(terminal.screen()).not.toContain('hunter5');
});

for (const [name, key] of [
  ['Ctrl-C', KEY.ctrlC],
  ['Ctrl-D', KEY.ctrlD],
] as const) {
  test(`${name} changes nothing (exit code 130)`, async () => {
    for (const words of [
      ['keys', 'request', '--profile', profile],
      ['keys', 'check'],
    ]) {
      const terminal = open(...words);
      await terminal.see('> ');
      terminal.type(key);
      expect(await terminal.exited).toBe(130);
      expect(terminal.screen()).toContain('nothing was changed');
    }
    expect(await keysListed(deps, { profile })).toEqual([]);
  });
}
