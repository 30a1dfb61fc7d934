import { describe, expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../../shared/files/open.ts';
import { cleanEnvironment, profilectlWords } from '../../support/cli.ts';
import { jsonLines, usernamesIn } from '../../support/profiles.ts';
import { eventually, tempFolder } from '../../support/world.ts';
import { openTerminal, runCommand } from '../commands.ts';

const ADA = { id: 7, username: 'Ada', email: 'ada@example.org' };

function world(lines: readonly (object | string)[]) {
  const folder = tempFolder();
  const file = join(folder, 'in.jsonl');
  writeFileSync(file, jsonLines(...lines));
  return { folder, file, db: join(folder, 'new/profiles.db') };
}

describe('profiles import', () => {
  test('prints only the first 20 bad lines; --json has all', async () => {
    const { file, db } = world(Array.from({ length: 204 }, () => 'x'));
    const { code, stderr } = await runCommand(['profiles', 'import', file, '--db', db]);
    expect(code).toBe(1);
    expect(stderr.trimEnd().split('\n').slice(19)).toEqual([
      'line 20: the line is not valid JSON',
      '… and 184 more; --rejects keeps them, --json lists them',
      'Refused lines by reason:',
      '  204  the line is not valid JSON',
      '204 lines were refused; nothing was changed.',
    ]);
    const { stdout } = await runCommand(['profiles', 'import', file, '--db', db, '--json']);
    expect(JSON.parse(stdout).refused).toHaveLength(204);
  });

  test('reads stdin as "-", and merges with --merge', async () => {
    const { file, db } = world([ADA]);
    await runCommand(['profiles', 'import', file, '--db', db]);
    const stdin = jsonLines({ id: 7, viewsCount: 3 });
    for (const words of [['-'], ['-', '--strict']]) {
      const done = await runCommand(['profiles', 'import', ...words, '--merge', '--db', db], { stdin });
      expect(done).toMatchObject({ code: 0, stderr: '' });
    }
    const { stdout } = await runCommand(['profiles', 'show', 'ada', '--json', '--db', db]);
    expect(JSON.parse(stdout)).toMatchObject({ email: 'ada@example.org', viewsCount: 3 });
  });

  test.each(['SIGKILL', 'SIGINT'] as const)('leaves only whole batches at %s', async (signal) => {
    const { db } = world([]);
    const words = profilectlWords(['profiles', 'import', '-', '--db', db]);
    const child = Bun.spawn(words, { env: cleanEnvironment(), stdin: 'pipe', stdout: 'ignore', stderr: 'ignore' });
    const lines = Array.from({ length: 3_000 }, (_, i) => ({ id: i + 1, username: `u${i}`, aliases: [`a${i}`] }));
    child.stdin.write(jsonLines(...lines));
    await child.stdin.flush();
    await eventually(() => existsSync(db) && countProfiles(db) > 0);
    child.kill(signal);
    expect(await child.exited).toBe(signal === 'SIGINT' ? 130 : 137);
    const { $client } = openDatabase(db, 'use');
    const profiles = $client.query('SELECT count(*) FROM profiles').values()[0]?.[0] as number;
    expect(profiles).toBeGreaterThan(0);
    expect($client.query('SELECT count(*) FROM profile_names').values()).toEqual([[2 * profiles]]);
    expect($client.query('PRAGMA integrity_check').values()).toEqual([['ok']]);
    $client.close();
  });

  test('shows its progress on a terminal', async () => {
    const { file, db } = world(Array.from({ length: 3_000 }, (_, i) => ({ id: i + 1, username: `u${i}` })));
    const terminal = openTerminal(['profiles', 'import', file, '--db', db]);
    await terminal.see(/\d+%, \d+ lines, \d+\/s/);
    await terminal.see('Imported 3000 lines into ');
    expect(await terminal.exited).toBe(0);
  });

  test('says that it reads from the terminal, and reads until Ctrl-D', async () => {
    const { db } = world([]);
    const terminal = openTerminal(['profiles', 'import', '-', '--db', db]);
    await terminal.see('Reading lines from the terminal');
    terminal.type('{"id":7,"username":"Ada"}\n');
    terminal.type('\u0004');
    await terminal.see('Imported 1 line');
    expect(await terminal.exited).toBe(0);
  });
});

/** The number of profiles in a database, which another process may be creating. */
function countProfiles(db: string): number {
  try {
    return usernamesIn(db).length;
  } catch {
    return 0;
  }
}

test('an import lowers its priority', async () => {
  const words = profilectlWords(['profiles', 'import', '-', '--db', join(tempFolder(), 'profiles.db')]);
  const child = Bun.spawn(words, { env: cleanEnvironment(), stdin: 'pipe', stdout: 'ignore', stderr: 'ignore' });
  await eventually(() => getPriority(child.pid) >= 10);
  child.stdin.write(jsonLines(ADA));
  child.stdin.end();
  expect(await child.exited).toBe(0);
});
