import { beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { profilectlWords } from '../../support/cli.ts';
import { keyIn, keysListed, mailedSecrets, mails, request } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';
import { KEY, openTerminal } from '../commands.ts';

const deps = testDeps();
const variables = { DATABASE_PATH: deps.config.databasePath, MAIL_URL: `file:${join(deps.folder, 'mail')}` };
let profile = '';
let nextId = 1;

beforeEach(() => {
  profile = `user${nextId}`;
  insertProfile(deps.db, { id: nextId++ });
});

describe('an owner at a terminal', () => {
  test('is prompted for missing values, corrects refused answers, and gets a pending key', async () => {
    const terminal = openTerminal(['keys', 'request'], variables);
    await terminal.answer('Profile', `nobody${KEY.enter}`);
    await terminal.answer('There is no profile with this username or alias.', `${KEY.ctrlU}${profile}${KEY.enter}`);
    await terminal.answer('Name of the key', KEY.enter);
    await terminal.answer('Enter a name.', `Bot${KEY.enter}`);
    await terminal.answer('Description', `Too short.${KEY.enter}`);
    await terminal.answer(
      'The description needs 70 more characters: say what the program does, who it is for, and what it stores.',
      ` It shows the badges of our members beside their names in the chat of ours.${KEY.enter}`,
    );
    await terminal.answer('Permissions', `${KEY.down}${KEY.space}`);
    await terminal.answer('◉ api.leaderboard', KEY.enter);
    await terminal.answer('Project URL', `ftp://example.org${KEY.enter}`);
    await terminal.answer('must be an http or https URL', `${KEY.ctrlU}https://example.org/bot${KEY.enter}`);
    await terminal.answer('Expected usage', KEY.enter);
    await terminal.answer('Send this request?', KEY.enter);
    await terminal.see(/[0-9A-Za-z]{8} pending/);
    expect(await terminal.exited).toBe(0);
    expect(keysListed(deps, { profile })).toMatchObject([
      {
        name: 'Bot',
        description: 'Too short. It shows the badges of our members beside their names in the chat of ours.',
        requestedPermissions: ['api.lookup', 'api.leaderboard'],
        projectUrl: 'https://example.org/bot',
        expectedUsage: null,
      },
    ]);
  });

  for (const [name, key] of [
    ['Ctrl-C', KEY.ctrlC],
    ['Ctrl-D', KEY.ctrlD],
  ] as const) {
    test(`who presses ${name} changes nothing (exit code 130)`, async () => {
      const terminal = openTerminal(['keys', 'request', '--profile', profile], variables);
      await terminal.answer('Name of the key', `Bot${key}`);
      expect(await terminal.exited).toBe(130);
      expect(terminal.screen()).toContain('nothing was changed');
      expect(keysListed(deps, { profile })).toEqual([]);
    });
  }
});

describe('an admin at a terminal', () => {
  test('sees the request and changes the grant, and nothing is approved before the yes', async () => {
    const identifier = await request(deps, { profile, name: 'Evil \u202e name', permissions: ['api.lookup'] });
    const terminal = openTerminal(['keys', 'approve', identifier], variables);
    await terminal.see('Evil  name');
    await terminal.answer('Permissions', KEY.enter);
    await terminal.answer('60/1m 5000/1d', `60/1m 1/1m${KEY.enter}`);
    await terminal.answer('must have different windows', `${KEY.ctrlU}60/1m 100/1h${KEY.enter}`);
    await terminal.answer('Expires', `30d${KEY.enter}`);
    await terminal.see(/Permissions +api\.lookup\s+Rate limits +60\/1m, 100\/1h/);
    await terminal.see(new RegExp(`The secret is mailed to +owner${profile.slice(4)}@example\\.org`));

    expect(showKey(deps, identifier).attempt).toBeNull();
    terminal.type(`y${KEY.enter}`);
    await terminal.see(`${identifier} Active`);
    await terminal.see(`The secret was mailed to owner${profile.slice(4)}@example.org.`);
    expect(await terminal.exited).toBe(0);
    const [secret = ''] = mailedSecrets(deps, identifier);
    expect(secret).not.toBe('');
    expect(terminal.screen()).not.toContain(secret.slice(13));
  });

  test('who says no changes nothing (exit code 130)', async () => {
    const identifier = await request(deps, { profile });
    const given = '--permission api.lookup --rate-limit 1/1s --expires 1d'.split(' ');
    const terminal = openTerminal(['keys', 'approve', identifier, ...given], variables);
    await terminal.answer(/Approve key \w{8}\?/, KEY.enter);
    expect(await terminal.exited).toBe(130);
    expect(showKey(deps, identifier)).toMatchObject({ state: 'pending', attempt: null });
  });

  test('is not prompted with --yes', async () => {
    const identifier = await request(deps, { profile });
    const terminal = openTerminal(['keys', 'approve', identifier, '--yes'], variables);
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen().trim().split(/\s*\n/)).toEqual(['Mailing the secret…', `${identifier} Active`]);
  });
});

test('commands that would prompt are refused if stderr is not a terminal (exit code 2)', async () => {
  const identifier = await request(deps, { profile });
  // The shell ends last: then the terminal hangs up, and takes what has not been printed with it.
  const piped = 'set -o pipefail; exec 3>&1; "$@" 2>&1 >&3 | cat';
  const withPipedErrors = (words: readonly string[]) => ['bash', '-c', piped, 'bash', ...profilectlWords(words)];
  const terminal = openTerminal(['keys', 'withdraw', identifier], variables, withPipedErrors);
  await terminal.see('Cannot prompt (stderr is not a terminal); add --yes.');
  expect(await terminal.exited).toBe(2);
  expect(showKey(deps, identifier).state).toBe('pending');
});

test('keys approve without an identifier offers the pending requests, and takes five answers', async () => {
  const own = testDeps();
  for (const id of [1, 2]) insertProfile(own.db, { id });
  await request(own, { profile: 'user1' });
  const identifier = await request(own, { profile: 'user2', name: 'Evil \u202e name' });
  const settings = { ...variables, DATABASE_PATH: own.config.databasePath };
  const terminal = openTerminal(['keys', 'approve'], settings);
  await terminal.see('Which request?');
  await terminal.answer('user2: Evil  name (api.lookup)', `${KEY.down}${KEY.enter}`);
  for (const question of ['Permissions', 'Rate limits', 'Expires']) await terminal.answer(question, KEY.enter);
  await terminal.answer(`Approve key ${identifier}?`, `y${KEY.enter}`);
  await terminal.see(`${identifier} Active`);
  expect(await terminal.exited).toBe(0);
  const none = openTerminal(['keys', 'approve', '--db', testDeps().config.databasePath], variables);
  await none.see('No requests are pending.');
  expect(await none.exited).toBe(0);
});

test('keys request for a banned profile fails before the first question', async () => {
  const banned = insertProfile(deps.db, { id: 4000 + nextId, banned: true });
  const terminal = openTerminal(['keys', 'request', '--profile', `user${banned}`], variables);
  expect(await terminal.exited).toBe(1);
  expect(terminal.screen()).toContain('banned');
  expect(terminal.screen()).not.toContain('Name of the key');
});

test('keys approve without MAIL_URL fails before the first question', async () => {
  const identifier = await request(deps, { profile });
  const terminal = openTerminal(['keys', 'approve', identifier], { DATABASE_PATH: deps.config.databasePath });
  expect(await terminal.exited).toBe(1);
  expect(terminal.screen()).toContain('MAIL_URL is not set');
  expect(terminal.screen()).not.toContain('Permissions:');
});

describe('keys suspend at a terminal, like all decisions with a reason', () => {
  const keyFor = (state: 'Active' | 'pending') => keyIn(state, { ...deps, clock: testClock(Date.now()) }, profile);

  test('shows the key, asks for the reason, and does nothing before a yes', async () => {
    const identifier = await keyFor('Active');
    const terminal = openTerminal(['keys', 'suspend', identifier], variables);
    await terminal.see(`Profile         ${profile}`);
    await terminal.answer(/Reason .*:/, `Found in public.${KEY.enter}`);
    await terminal.see('Suspend key');
    expect(showKey(deps, identifier).state).toBe('Active');
    terminal.type(`y${KEY.enter}`);
    await terminal.see(`${identifier} suspended`);
    expect(await terminal.exited).toBe(0);
    expect(keyHistory(deps, identifier).at(-1)?.detail).toEqual({ reason: 'Found in public.' });
    expect(mails(deps).at(-1)).toContain('Found in public.');
  });

  test('with --yes needs --reason', async () => {
    const terminal = openTerminal(['keys', 'suspend', await keyFor('Active'), '--yes'], variables);
    expect(await terminal.exited).toBe(2);
    expect(terminal.screen()).toContain('--reason is missing');
  });

  test('fails before the first question if the key is in another state', async () => {
    const terminal = openTerminal(['keys', 'suspend', await keyFor('pending')], variables);
    expect(await terminal.exited).toBe(1);
    expect(terminal.screen()).toContain('only Active keys can be suspended');
    expect(terminal.screen()).not.toContain('Reason');
  });
});
