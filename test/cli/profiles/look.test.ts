import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandEnvironment, PROJECT, profilectlWords } from '../../support/cli.ts';
import { runCommand } from '../../support/commands.ts';
import { jsonLines } from '../../support/profiles.ts';
import { tempFolder } from '../../support/world.ts';

const SAMPLE = join(PROJECT, 'shared/sample/profiles.jsonl');

async function world(stdin = readFileSync(SAMPLE, 'utf8')): Promise<string> {
  const db = join(tempFolder(), 'profiles.db');
  await runCommand(['profiles', 'import', '-', '--db', db], { stdin });
  return db;
}

describe('profiles export', () => {
  test('prints all that was imported, and exactly the export that was', async () => {
    const { code, stdout, stderr } = await runCommand(['profiles', 'export', '--db', await world()]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const linesOf = (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
    expect(linesOf(stdout)).toMatchObject(linesOf(readFileSync(SAMPLE, 'utf8')));
    expect((await runCommand(['profiles', 'export', '--db', await world(stdout)])).stdout).toBe(stdout);
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
