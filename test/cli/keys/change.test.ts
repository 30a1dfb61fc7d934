import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { showKey } from '../../../shared/keys/view.ts';
import { KEY, openTerminal, runCommand } from '../../support/commands.ts';
import { DESCRIPTION, issue, keysListed } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';

/** A database with an Active key, and `profilectl` on it. */
async function world() {
  const deps = testDeps();
  insertProfile(deps.db, { id: 1, username: 'ada' });
  const fields = { profile: 'ada', projectUrl: 'https://example.org', expectedUsage: 'A few\nlookups' };
  const { identifier } = await issue(deps, { ...fields, description: `${DESCRIPTION}\nIn two lines.` });
  const variables = { DATABASE_PATH: deps.config.databasePath, MAIL_URL: `file:${join(deps.folder, 'mail')}` };
  const run = (...words: string[]) => runCommand(words, { variables });
  return { deps, identifier, variables, run };
}

describe('keys change on a terminal without flags', () => {
  test('shows the key, asks for all values, starting with the current ones, and changes them once confirmed', async () => {
    const { deps, identifier, variables } = await world();
    const terminal = openTerminal(['keys', 'change', identifier], variables);
    await terminal.see(/Rate limits +60\/1m, 5000\/1d/);
    await terminal.see('Permissions');
    terminal.type(KEY.enter);
    await terminal.see(/Rate limits .*60\/1m 5000\/1d/);
    terminal.type(`\t,7/1h${KEY.enter}`);
    await terminal.see(/Expires .*never/);
    terminal.type(`2126-01-31${KEY.enter}`);
    await terminal.see(
      /Rate limits +60\/1m, 5000\/1d, 7\/1h\s+Expires +2126-01-31T00:00:00.000Z[\s\S]+Change key \w{8}\?/,
    );
    expect(showKey(deps, identifier).expiresAt).toBeNull();
    terminal.type(`y${KEY.enter}`);
    await terminal.see(`${identifier} Active`);
    expect(await terminal.exited).toBe(0);
    expect(showKey(deps, identifier)).toMatchObject({
      rateLimits: [{ windowSeconds: 60 }, { windowSeconds: 86_400 }, { quota: 7, windowSeconds: 3_600 }],
      expiresAt: '2126-01-31T00:00:00.000Z',
    });
  });
});

describe('a request for a successor', () => {
  test('is shown on a terminal before it is sent, and its approval asks when the old key expires', async () => {
    const { deps, identifier, variables } = await world();
    const asking = openTerminal(['keys', 'request', '--successor-of', identifier], variables);
    await asking.see(new RegExp(`Successor of +${identifier}`));
    await asking.see('In two lines.');
    await asking.see('https://example.org');
    await asking.see('Send this request?');
    expect(keysListed(deps)).toHaveLength(1);
    asking.type(KEY.enter);
    await asking.see('pending');
    expect(await asking.exited).toBe(0);
    const successor = /(\w{8}) pending/.exec(asking.screen())?.[1] ?? '';
    const terminal = openTerminal(
      ['keys', 'approve', successor, '--permission', 'api.lookup', '--rate-limit', '7/1m', '--expires', 'never'],
      variables,
    );
    await terminal.see('When the old key expires');
    terminal.type(`2126-01-31${KEY.enter}`);
    await terminal.see(/Expires +never\s+When the old key expires +2126-01-31/);
    terminal.type(`y${KEY.enter}`);
    expect(await terminal.exited).toBe(0);
    expect(showKey(deps, successor).state).toBe('Active');
    expect(showKey(deps, identifier).expiresAt).toBe('2126-01-31T00:00:00.000Z');
  });
});
