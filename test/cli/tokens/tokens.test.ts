import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Deps } from '../../../shared/deps.ts';
import { readLog } from '../../../shared/log.ts';
import { enterHandOver } from '../../../shared/sign-in/hand-over.ts';
import { noteTokenUse, readBackendToken } from '../../../shared/tokens.ts';
import { addBackend, CLIENT, countRows, ticketFor } from '../../support/people.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';
import { runCommand } from '../commands.ts';

function world() {
  const access = testDeps();
  const variables = { DATABASE_PATH: access.config.databasePath };
  return { access, run: (...words: string[]) => runCommand(words, { variables }) };
}

const TOKEN = /^plp_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$/;

/** All bytes of the database and its write-ahead log. */
function bytesOf({ config: { databasePath } }: Deps): string {
  const paths = ['', '-wal'].map((suffix) => databasePath + suffix);
  return paths.map((path) => readFileSync(path, 'latin1')).join('');
}

describe('profilectl tokens', () => {
  test('add stores the SHA-256 of the token that it prints, and logs it', async () => {
    const { access, run } = world();
    const added = await run('tokens', 'add', 'Backend', '--right', 'profiles', '--right', 'sign-ins');
    const token = added.stdout.trim();
    expect(token).toMatch(TOKEN);
    const identifier = token.slice(4, 12);
    expect(readBackendToken(access.db, token)).toMatchObject({
      identifier,
      name: 'Backend',
      rights: ['profiles', 'sign-ins'],
      excludesContactFields: false,
    });
    expect(bytesOf(access)).not.toContain(token.slice(13));
    expect(readLog(access.db, 1).entries).toMatchObject([
      {
        kind: 'token-added',
        identifier,
        text: `Added the token ${identifier} of the backend Backend, which may use profiles and sign-ins`,
      },
    ]);
  });

  test('a token with a typo at any position, truncated or of another kind is not accepted', async () => {
    const { access } = world();
    const token = addBackend(access).token;
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
      addedAt: expect.any(String),
      lastUsedAt: null,
    });
  });

  test('a name has one token, whose last use is listed, and removing it ends what it opened', async () => {
    const { access, run } = world();
    const token = (await run('tokens', 'add', 'Backend', '--right', 'sign-ins')).stdout.trim();
    const identifier = token.slice(4, 12);
    expect(await run('tokens', 'add', 'BACKEND', '--right', 'profiles')).toEqual({
      code: 1,
      stdout: '',
      stderr: `There is already a token of Backend: remove it first with "profilectl tokens remove ${identifier}", or choose another name.\n`,
    });
    const found = readBackendToken(access.db, token);
    if (found !== null) noteTokenUse(access, found);
    const { tokens } = JSON.parse((await run('tokens', 'list', '--json')).stdout);
    expect(tokens).toMatchObject([{ identifier, lastUsedAt: expect.stringMatching(/^20/) }]);
    insertProfile(access.db, { id: 7 });
    enterHandOver(access, ticketFor(access, 7, identifier), CLIENT);
    expect(await run('tokens', 'remove', 'backend', '--yes')).toEqual({
      code: 0,
      stdout: `Removed the token ${identifier} of Backend.\n`,
      stderr: 'Also ended: 1 session opened with it.\n',
    });
    expect(readBackendToken(access.db, token)).toBeNull();
    expect(countRows(access.db, 'sign_ins')).toBe(0);
    expect((await run('tokens', 'add', 'backend', '--right', 'profiles')).code).toBe(0);
  });
});
