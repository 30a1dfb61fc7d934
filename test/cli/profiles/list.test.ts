import { beforeAll, describe, expect, test } from 'bun:test';
import { runCommand } from '../../support/machine/command.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';

const deps = testDeps();
const run = (...words: string[]) =>
  runCommand(['profiles', ...words], { variables: { DATABASE_PATH: deps.config.databasePath, MAX_PROFILE_KIB: '1' } });

beforeAll(() => {
  insertProfile(deps.db, { id: 1, username: 'Ada', aliases: ['lovelace'], displayName: 'Ada\u001b[2J\u202e' });
  insertProfile(deps.db, { id: 2, username: 'bob', banned: true, email: null });
  insertProfile(deps.db, { id: 7, username: 'adam', customize: JSON.stringify({ text: 'x'.repeat(2_000) }) });
});

describe('profiles list', () => {
  test('shows profiles by UID as a table, without private fields, and says how to get the next page', async () => {
    const { code, stdout, stderr } = await run('list', '--limit', '2');
    expect(code).toBe(0);
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows.slice(0, 3)).toEqual([
      ['UID', 'Username', 'Display name', 'Banned', 'Views', 'Created'],
      ['1', 'Ada', expect.stringMatching(/^Ada/), '0', '2024-05-01T00:00:00.000Z'],
      ['2', 'bob', 'bob', 'banned', '0', '2024-05-01T00:00:00.000Z'],
    ]);
    expect(stdout).not.toContain('example.org');
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(stderr).toBe('There are more; use --after 2 for the next page.\n');
    const rest = await run('list', '--limit', '2', '--after', '2');
    expect(rest).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('adam') });
  });

  test('with --json prints one value with the next cursor, and combines filters', async () => {
    const listed = async (...flags: string[]) => {
      const { profiles, next } = JSON.parse((await run('list', '--json', ...flags)).stdout);
      return [profiles.map(({ id }: { id: number }) => id), next];
    };
    expect(await listed()).toEqual([[1, 2, 7], null]);
    expect(await listed('--limit', '1')).toEqual([[1], 1]);
    expect(await listed('--name', 'LOVE')).toEqual([[1], null]);
    expect(await listed('--banned', '--without-email')).toEqual([[2], null]);
    expect(await listed('--name', 'ada', '--oversized')).toEqual([[7], null]);
    expect(await listed('--with-keys')).toEqual([[], null]);
    expect((await run('list', '--with-keys')).stdout).toBe('No profiles.\n');
  });

  test.each([
    ['--limit', '0', '--limit must be a whole number from 1 to 10000.'],
    ['--limit', 'all', '--limit must be a whole number from 1 to 10000.'],
    ['--after', '-1', '--after must be a whole number from 0 to 9007199254740991.'],
  ])('%s %s is a usage error: 2', async (flag, value, sentence) => {
    expect(await run('list', flag, value)).toEqual({ code: 2, stdout: '', stderr: `${sentence}\n` });
  });
});
