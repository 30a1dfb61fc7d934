import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandEnvironment, PROJECT, profilectlWords } from '../../support/cli.ts';
import { jsonLines } from '../../support/import.ts';
import { runCommand } from '../../support/machine/command.ts';
import { tempFolder } from '../../support/world.ts';

const SAMPLE = join(PROJECT, 'shared/sample/profiles.jsonl');

async function world(stdin = readFileSync(SAMPLE, 'utf8')): Promise<string> {
  const db = join(tempFolder(), 'profiles.db');
  await runCommand(['profiles', 'import', '-', '--db', db], { stdin });
  return db;
}

describe('profiles export', () => {
  test('prints exactly the sample that was imported', async () => {
    const { code, stdout, stderr } = await runCommand(['profiles', 'export', '--db', await world()]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(readFileSync(SAMPLE, 'utf8'));
  });

  test('ends quietly when the reader stops reading, but reports a full disk', async () => {
    const lines = Array.from({ length: 200 }, (_, i) => ({
      id: i + 1,
      username: `u${i}`,
      displayName: 'x'.repeat(5_000),
    }));
    const db = await world(jsonLines(...lines));
    const words = profilectlWords(['profiles', 'export', '--db', db]).map((word) => `'${word}'`);
    const child = Bun.spawn(['bash', '-c', `${words.join(' ')} | head -c 10; exit \${PIPESTATUS[0]}`], {
      env: commandEnvironment(),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    expect(await new Response(child.stdout).text()).toBe('{"id":1,"u');
    expect(await new Response(child.stderr).text()).toBe('');
    expect(await child.exited).toBe(0);
    const full = Bun.spawnSync(['sh', '-c', `${words.join(' ')} > /dev/full`], { env: commandEnvironment() });
    expect([full.exitCode, full.stderr.toString()]).toEqual([1, "The output can't be written (ENOSPC).\n"]);
  });
});

describe('profiles show', () => {
  test('finds a profile by name or by UID, and needs exactly one of them', async () => {
    const db = await world();
    const byName = await runCommand(['profiles', 'show', 'ada', '--json', '--db', db]);
    const { id } = JSON.parse(byName.stdout);
    expect(await runCommand(['profiles', 'show', '--uid', String(id), '--json', '--db', db])).toEqual(byName);
    const unknown = await runCommand(['profiles', 'show', '--uid', '999999', '--db', db]);
    expect([unknown.code, unknown.stderr]).toEqual([1, 'There is no profile with this UID.\n']);
    for (const words of [[], ['ada', '--uid', '7'], ['--uid', '0'], ['--uid', '07'], ['--uid', '9007199254740992']]) {
      expect((await runCommand(['profiles', 'show', ...words, '--db', db])).code).toBe(2);
    }
  });

  test('prints a profile with its private fields', async () => {
    const db = await world();
    const { code, stdout } = await runCommand(['profiles', 'show', 'LOVELACE', '--db', db]);
    expect(code).toBe(0);
    for (const fact of ['Ada Lovelace', 'auth0|ada', 'ada@example.org', 'lovelace, countess', '314159']) {
      expect(stdout).toContain(fact);
    }
    const bare = await runCommand(['profiles', 'show', 'empty', '--db', db]);
    expect(bare.stdout).toContain('none');
  });

  test('with --json prints the line of the export', async () => {
    const { stdout } = await runCommand(['profiles', 'show', 'ada', '--json', '--db', await world()]);
    expect(readFileSync(SAMPLE, 'utf8')).toContain(stdout);
  });

  test('removes control and bidirectional characters from the profile', async () => {
    const evil = 'a\u001b[2J\u202eb\rc\nd';
    const profile = {
      id: 1,
      username: 'x',
      displayName: evil,
      badges: [{ name: evil, enabled: true }],
      discordID: evil,
    };
    const link = { id: evil, name: evil, link: evil };
    const db = await world(jsonLines({ ...profile, assets: { [evil]: evil }, links: [link] }));
    const { stdout } = await runCommand(['profiles', 'show', 'x', '--db', db]);
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  });

  test('refuses an unknown profile (exit code 1)', async () => {
    const done = await runCommand(['profiles', 'show', 'nobody here', '--db', await world()]);
    expect(done).toEqual({ code: 1, stdout: '', stderr: 'There is no profile with this username or alias.\n' });
  });
});
