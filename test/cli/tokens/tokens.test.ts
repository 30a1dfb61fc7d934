import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { ERASE_LIMIT, readBackendToken } from '../../../shared/backends/backend-tokens.ts';
import { noteTokenUse } from '../../../shared/backends/token-uses.ts';
import { listLog } from '../../../shared/log.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { enterHandOver } from '../../../shared/sign-in/hand-over.ts';
import { readTokenText } from '../../../shared/sign-ins/token-text.ts';
import { runCommand } from '../../support/machine/command.ts';
import { CLIENT, testAccess, ticketFor } from '../../support/portal/access.ts';
import { tokenFor } from '../../support/portal/manage.ts';
import { insertProfile } from '../../support/profiles.ts';

function world() {
  const access = testAccess();
  const variables = { DATABASE_PATH: access.config.databasePath };
  return { access, run: (...words: string[]) => runCommand(words, { variables }) };
}

const TOKEN = /^plp_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$/;

/** All bytes of the two databases and their write-ahead logs. */
function bytesOf({ config: { databasePath } }: Access): string {
  const paths = ['', '-wal', '.sessions', '.sessions-wal'].map((suffix) => databasePath + suffix);
  return paths.map((path) => readFileSync(path, 'latin1')).join('');
}

describe('profilectl tokens', () => {
  test('add stores the SHA-256 of the token that it prints, and logs it', async () => {
    const { access, run } = world();
    const added = await run('tokens', 'add', 'Backend', '--right', 'profiles', '--right', 'sign-ins');
    const token = added.stdout.trim();
    expect(token).toMatch(TOKEN);
    const identifier = readTokenText(token) as string;
    expect(readBackendToken(access.db, token)).toEqual({
      identifier,
      name: 'Backend',
      rights: ['profiles', 'sign-ins'],
      eraseLimit: ERASE_LIMIT.default,
      excludesContactFields: false,
    });
    expect(bytesOf(access)).not.toContain(token.slice(13));
    expect(listLog(access.db, 1)).toMatchObject([
      {
        kind: 'token-added',
        identifier,
        text: `Added the token ${identifier} of the backend Backend, which may use profiles and sign-ins`,
      },
    ]);
  });

  test('a token with a typo at any position, truncated or of another kind is not accepted', async () => {
    const { access } = world();
    const token = tokenFor(access);
    for (let index = 0; index < token.length; index++) {
      const other = token[index] === '0' ? '1' : '0';
      const mistyped = token.slice(0, index) + other + token.slice(index + 1);
      expect([index, readBackendToken(access.db, mistyped)]).toEqual([index, null]);
    }
    for (const other of [token.slice(0, -1), `${token}0`, token.replace('plp_', 'plk_'), '', ` ${token}`]) {
      expect(readBackendToken(access.db, other)).toBeNull();
    }
  });

  test('add --without-address --json prints JSON', async () => {
    const { run } = world();
    const words = ['--right', 'profiles', '--without-address', '--json'];
    const added = await run('tokens', 'add', 'backend', ...words);
    expect(JSON.parse(added.stdout)).toEqual({
      token: expect.stringMatching(TOKEN),
      identifier: expect.stringMatching(/^[0-9A-Za-z]{8}$/),
      name: 'backend',
      rights: ['profiles'],
      withoutAddress: true,
      eraseLimit: ERASE_LIMIT.default,
      addedAt: expect.any(String),
      lastUsedAt: null,
    });
  });

  test('of two tokens with one name, each has its own last use, and removing one ends what it opened', async () => {
    const { access, run } = world();
    const add = async (name: string) => (await run('tokens', 'add', name, '--right', 'profiles')).stdout.trim();
    const [first, second] = [await add('Backend'), await add('backend')];
    const [older, newer] = [first, second].map((token) => readTokenText(token) as string);
    noteTokenUse(access.sessions, access.clock, newer as string);
    const { tokens } = JSON.parse((await run('tokens', 'list', '--json')).stdout);
    const uses = tokens.map((one: { identifier: string; lastUsedAt: unknown }) => [one.identifier, one.lastUsedAt]);
    expect(new Map(uses)).toEqual(
      new Map([
        [older, null],
        [newer, expect.stringMatching(/^20/)],
      ]),
    );
    insertProfile(access.db, { id: 7 });
    enterHandOver(access, ticketFor(access, 7, older), null, CLIENT);
    expect(await run('tokens', 'remove', older as string, '--yes')).toEqual({
      code: 0,
      stdout: `Removed the token ${older} of Backend.\n`,
      stderr: 'Also ended: 1 session opened with it.\n',
    });
    expect(readBackendToken(access.db, first)).toBeNull();
    expect(readBackendToken(access.db, second)).not.toBeNull();
    expect(JSON.parse((await run('tokens', 'remove', 'backend', '--yes', '--json')).stdout)).toEqual({
      ...{ identifier: newer, name: 'backend', removed: true, endedSessions: 0 },
    });
  });
});
