import { describe, expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { cleanEnvironment, profilectlWords } from '../../support/cli.ts';
import { jsonLines } from '../../support/import.ts';
import { runCommand } from '../../support/machine/command.ts';
import { openTerminal } from '../../support/machine/terminal.ts';
import { usernamesIn } from '../../support/profiles.ts';
import { tempFolder } from '../../support/world.ts';

const ADA = { id: 7, username: 'Ada', email: 'ada@example.org' };

function world(lines: readonly (object | string)[]) {
  const folder = tempFolder();
  const file = join(folder, 'in.jsonl');
  writeFileSync(file, jsonLines(...lines));
  return { folder, file, db: join(folder, 'new/profiles.db') };
}

describe('profiles import', () => {
  test('creates the database, and prints the counts', async () => {
    const { file, db } = world([ADA]);
    const done = await runCommand(['profiles', 'import', file, '--db', db]);
    expect(done).toEqual({ code: 0, stdout: 'Imported 1 line; erased 0 profiles.\n', stderr: '' });
  });

  test('reports bad lines and dropped fields on stderr, and imports the rest (exit code 3)', async () => {
    const { file, db } = world([{ ...ADA, 'p\u001bw': 1 }, 'x', { id: 8, username: 'ADA' }]);
    expect(await runCommand(['profiles', 'import', file, '--db', db])).toEqual({
      code: 3,
      stdout: 'Imported 1 line; erased 0 profiles.\n',
      stderr:
        'line 2: the line is not valid JSON (column 1)\n' +
        'line 3 (id 8, username): the name "ADA" is held by profile 7\n' +
        'Unknown fields were dropped: pw (1).\n' +
        'Refused lines by reason:\n' +
        '  1  the line is not valid JSON\n' +
        '  1  the name is held by another profile\n' +
        '2 lines were refused; the rest was imported.\n',
    });
  });

  test('prints only the first 20 bad lines; --json has all', async () => {
    const { file, db } = world(Array.from({ length: 204 }, () => 'x'));
    const { code, stderr } = await runCommand(['profiles', 'import', file, '--db', db]);
    expect(code).toBe(1);
    expect(stderr.trimEnd().split('\n').slice(19)).toEqual([
      'line 20: the line is not valid JSON (column 1)',
      '… and 184 more; --rejects keeps them, --json lists them',
      'Refused lines by reason:',
      '  204  the line is not valid JSON',
      '204 lines were refused; nothing was changed.',
    ]);
    const { stdout } = await runCommand(['profiles', 'import', file, '--db', db, '--json']);
    expect(JSON.parse(stdout).refused).toHaveLength(204);
  });

  test('with --json prints the result to stdout, and the error to stderr', async () => {
    const { file, db } = world([{ ...ADA, x: 1 }, '[]', { id: 7, deleted: true }]);
    const { code, stdout, stderr } = await runCommand(['profiles', 'import', file, '--db', db, '--json']);
    expect(JSON.parse(stdout)).toEqual({
      imported: 1,
      deleted: 1,
      pruned: 0,
      newer: 0,
      refused: [{ line: 2, id: null, field: null, reason: 'the line must be an object' }],
      dropped: { x: 1 },
    });
    expect(JSON.parse(stderr)).toEqual({ error: '1 line was refused; the rest was imported.' });
    expect(code).toBe(3);
  });

  test('changes nothing with --strict if a line is bad', async () => {
    const { file, db } = world([ADA, 'x']);
    const done = await runCommand(['profiles', 'import', '--strict', file, '--db', db]);
    expect(done.code).toBe(1);
    expect(done.stderr).toEndWith('1 line was refused; nothing was changed.\n');
    expect((await runCommand(['profiles', 'export', '--db', db])).stdout).toBe('');
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

  test('refuses a missing file in one sentence, without creating a database', async () => {
    const { folder, db } = world([]);
    const missing = await runCommand(['profiles', 'import', join(folder, 'none'), '--db', db]);
    expect(missing).toEqual({ code: 1, stdout: '', stderr: `There is no file ${join(folder, 'none')}.\n` });
    expect(existsSync(db)).toBe(false);
  });

  test('needs a file name', async () => {
    expect((await runCommand(['profiles', 'import'])).code).toBe(2);
  });

  test.each(['SIGKILL', 'SIGINT'] as const)('leaves only whole batches at %s', async (signal) => {
    const { db } = world([]);
    const words = profilectlWords(['profiles', 'import', '-', '--db', db]);
    const child = Bun.spawn(words, { env: cleanEnvironment(), stdin: 'pipe', stdout: 'ignore', stderr: 'ignore' });
    const lines = Array.from({ length: 3_000 }, (_, i) => ({ id: i + 1, username: `u${i}`, aliases: [`a${i}`] }));
    child.stdin.write(jsonLines(...lines));
    await child.stdin.flush();
    while (!existsSync(db) || countProfiles(db) === 0) await Bun.sleep(20);
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
    await terminal.see(/\[#* *\] \d+% {2}\d+ lines, \d+\/s/);
    await terminal.see('Imported 3000 lines; erased 0 profiles.');
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
  const deadline = performance.now() + 10_000;
  while (getPriority(child.pid) < 10 && performance.now() < deadline) await Bun.sleep(5);
  expect(getPriority(child.pid)).toBeGreaterThanOrEqual(10);
  child.stdin.write(jsonLines(ADA));
  child.stdin.end();
  expect(await child.exited).toBe(0);
});
