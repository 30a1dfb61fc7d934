import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS, isoTime, systemClock } from '../../../shared/clock.ts';
import { PROJECT, profilectlWords } from '../../support/cli.ts';
import { importLines, jsonLines, usernamesIn } from '../../support/profiles.ts';
import { tempFolder, testDeps } from '../../support/world.ts';
import { openTerminal, runCommand } from '../commands.ts';

const profiles = (count: number) => Array.from({ length: count }, (_, at) => ({ id: at + 1, username: `u${at + 1}` }));

/** A database with this number of profiles, a file, and `profiles import`. */
async function world(before: number) {
  const folder = tempFolder();
  const [file, db] = [join(folder, 'in.jsonl'), join(folder, 'profiles.db')];
  if (before > 0) await importLines(testDeps({ variables: { DATABASE_PATH: db } }), profiles(before));
  const importing = (words: readonly string[], stdin?: string) =>
    runCommand(['profiles', 'import', ...words, '--db', db], stdin === undefined ? {} : { stdin });
  const write = (text: string) => writeFileSync(file, text);
  const count = () => usernamesIn(db).length;
  return { folder, file, db, importing, write, count };
}

describe('--prune', () => {
  test('asks for confirmation on a terminal with the number of profiles, and erases none if declined (exit code 3)', async () => {
    const { file, db, write, count } = await world(20);
    write(jsonLines(...profiles(18)));
    const words = ['profiles', 'import', file, '--prune', '--db', db];
    const terminal = openTerminal(words);
    await terminal.see('Erase the 2 profiles missing from the file for good, and revoke their API keys?');
    terminal.type('n\r');
    await terminal.see('Nothing was pruned. The rest was imported.');
    expect(await terminal.exited).toBe(3);
    expect(count()).toBe(20);
    const again = openTerminal(words);
    await again.see('Erase the 2 profiles');
    again.type('y\r');
    await again.see('pruned 2 profiles.');
    expect(await again.exited).toBe(0);
    expect(count()).toBe(18);
  });

  test('Ctrl-C at the question says that the file was imported (exit code 130)', async () => {
    const { file, db, write } = await world(20);
    write(jsonLines(...profiles(18)));
    const terminal = openTerminal(['profiles', 'import', file, '--prune', '--db', db]);
    await terminal.see('Erase the 2 profiles');
    terminal.type('\u0003');
    await terminal.see('the file was imported, and nothing was pruned.');
    expect(await terminal.exited).toBe(130);
  });
});

describe('--as-of', () => {
  test('skips and names profiles that commands have written since (exit code 0)', async () => {
    const { db, file, importing, write, count } = await world(4);
    const asOf = isoTime(systemClock.nowMs());
    while (isoTime(systemClock.nowMs()) === asOf) await Bun.sleep(1);
    await runCommand(['profiles', 'ban', 'u1', '--db', db]);
    await runCommand(['profiles', 'erase', 'u2', '--yes', '--db', db]);
    await runCommand(['profiles', 'import', '-', '--merge', '--db', db], { stdin: '{"id":3,"username":"three"}' });
    write(jsonLines(...profiles(2).map((line) => ({ ...line, banned: false }))));
    const pruning = ['--prune', '--prune-limit', '100%', '--as-of', asOf];
    expect(await importing([file, ...pruning])).toEqual({
      code: 0,
      stdout: `Imported 0 lines into ${db}; pruned 1 profile.\n`,
      stderr: '2 lines skipped: the profile was written or erased here after the data was read (id 1, 2).\n',
    });
    expect(count()).toBe(2);
    const json = await importing([file, '--json', '--as-of', asOf]);
    expect(JSON.parse(json.stdout)).toEqual({ imported: 0, deleted: 0, pruned: 0, newer: 2, refused: [], dropped: [] });
    const shown = await runCommand(['profiles', 'show', 'u1', '--json', '--db', db]);
    expect(JSON.parse(shown.stdout)).toMatchObject({ id: 1, banned: true });
  });

  test('refuses a time in the future, and changes nothing (exit code 2)', async () => {
    const { file, importing, write, count } = await world(1);
    write(jsonLines(...profiles(3)));
    const { code, stderr } = await importing([file, '--as-of', isoTime(systemClock.nowMs() + DAY_MS)]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^--as-of may not be in the future/)]);
    expect(count()).toBe(1);
  });
});

describe('--rejects', () => {
  const BAD_BYTES = Buffer.from([0x7b, 0xff, 0x7d, 0x0a]);

  test('receives the refused lines unchanged, with mode 0600, including lines too long for memory', async () => {
    const { folder, file, importing } = await world(0);
    const rejects = join(folder, 'rejects.jsonl');
    const long = `{"id":9,"username":"long","x":"${'y'.repeat(3_000_000)}"}`;
    const bad = ['{"id":2', '{"id":3,"username":"U1"}', '{"id":4}'];
    const text = jsonLines(...profiles(1), ...bad.slice(0, 1), long, '', ...bad.slice(1));
    writeFileSync(file, Buffer.concat([Buffer.from(text), BAD_BYTES]));
    for (const words of [[], ['--strict']]) {
      const { code, stderr } = await importing([file, '--rejects', rejects, ...words]);
      expect(code).toBe(words.length === 0 ? 3 : 1);
      expect(statSync(rejects).mode & 0o777).toBe(0o600);
      const kept = readFileSync(rejects, 'latin1').split('\n').sort();
      expect(kept).toEqual([...bad, long, BAD_BYTES.toString('latin1').trimEnd(), ''].sort());
      if (words.length === 0) expect(stderr).toContain('1 blank line skipped.');
    }
  });

  test('receives conflicting lines with --strict, and keeps no lines of an earlier import', async () => {
    const { folder, file, importing, write } = await world(0);
    const rejects = join(folder, 'rejects.jsonl');
    write(jsonLines(...profiles(1), '{"id":3,"username":"U1"}'));
    expect((await importing([file, '--rejects', rejects, '--strict'])).code).toBe(1);
    expect(readFileSync(rejects, 'utf8')).toBe('{"id":3,"username":"U1"}\n');
    write(jsonLines(...profiles(1)));
    expect((await importing([file, '--rejects', rejects])).code).toBe(0);
    expect(readFileSync(rejects, 'utf8')).toBe('');
  });

  test('can’t be the input, and a file that can’t be written is reported', async () => {
    const { folder, file, db, importing, write } = await world(3);
    write(jsonLines(...profiles(2)));
    const { code, stderr } = await importing([file, '--rejects', file]);
    expect([code, stderr]).toEqual([2, `--rejects names the file that the import itself reads: ${file}.\n`]);
    const words = profilectlWords(['profiles', 'import', '-', '--rejects', file, '--db', db]);
    const child = Bun.spawnSync(['sh', '-c', `"$@" < '${file}'`, 'sh', ...words], { cwd: PROJECT });
    expect(child.exitCode).toBe(2);
    expect(readFileSync(file, 'utf8')).toBe(jsonLines(...profiles(2)));
    const missing = join(folder, 'none', 'rejects');
    expect(await importing([file, '--rejects', missing])).toMatchObject({
      code: 1,
      stderr: `The --rejects file ${missing} can't be written (ENOENT).\n`,
    });
    write(jsonLines(...profiles(2), 'x'));
    const full = await importing([file, '--rejects', '/dev/full']);
    expect(full.stderr).toContain("The --rejects file /dev/full can't be written (ENOSPC); 2 lines were imported.");
    expect(full.code).toBe(3);
  });
});

test('--rejects can’t be a file of the database, also if that is named by a link', async () => {
  // Its connection stays open, so that the log has the profile.
  const { folder, file, db, write } = await world(1);
  write('{"id":2');
  const link = join(folder, 'link.db');
  symlinkSync(db, link);
  const log = readFileSync(`${db}-wal`);
  expect(log.length).toBeGreaterThan(0);
  for (const suffix of ['', '-wal', '-shm', '-journal', '.lock', '.unfinished']) {
    for (const path of [db, link]) {
      const words = ['profiles', 'import', file, '--rejects', db + suffix, '--db', path];
      const { code, stderr } = await runCommand(words);
      expect([code, stderr]).toEqual([2, `--rejects names a file of the database: ${db}${suffix}.\n`]);
    }
  }
  expect(readFileSync(`${db}-wal`).equals(log)).toBe(true);
});

describe('an existing file of --rejects', () => {
  const BAD = jsonLines('{"id":2');

  test('is emptied if only its owner can read it, as those of earlier imports', async () => {
    const { folder, file, importing, write } = await world(0);
    const rejects = join(folder, 'rejects.jsonl');
    write(jsonLines(...profiles(1)) + BAD);
    await importing([file, '--rejects', rejects]);
    write(jsonLines(...profiles(2)));
    expect((await importing([file, '--rejects', rejects])).code).toBe(0);
    expect(readFileSync(rejects, 'utf8')).toBe('');
    // An empty file has nothing to lose; it gets mode 0600.
    chmodSync(rejects, 0o644);
    write(jsonLines(...profiles(2)) + BAD);
    expect((await importing([file, '--rejects', rejects])).code).toBe(3);
    expect([readFileSync(rejects, 'utf8'), statSync(rejects).mode & 0o777]).toEqual([BAD, 0o600]);
  });

  test('that others can read is kept, and nothing is imported (exit code 1)', async () => {
    const { folder, file, importing, write, count } = await world(1);
    write(jsonLines(...profiles(3)) + BAD);
    const path = join(folder, 'notes');
    writeFileSync(path, 'precious\n');
    // Whatever the umask is.
    chmodSync(path, 0o644);
    const done = await importing([file, '--rejects', path, '--yes']);
    expect(done).toMatchObject({ code: 1, stderr: expect.stringContaining(`${path} exists, and is not`) });
    expect([readFileSync(path, 'utf8'), count()]).toEqual(['precious\n', 1]);
  });
});

describe('a file that is not JSON Lines', () => {
  test('is refused, naming its format, and no database is created (exit code 1)', async () => {
    const { file, db, importing } = await world(0);
    const gzip = Bun.gzipSync(jsonLines(...profiles(1)));
    writeFileSync(file, gzip);
    const sentence = `${file} is compressed with gzip. Try: zcat ${file} | profilectl profiles import -`;
    expect(await importing([file, '--prune'])).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(sentence),
    });
    expect((await importing(['-'], '')).stderr).toBe('The input is empty; nothing was changed.\n');
    expect(existsSync(db)).toBe(false);
    const words = profilectlWords(['profiles', 'import', '/dev/stdin', '--db', db]);
    const piped = Bun.spawnSync(['sh', '-c', `cat '${file}' | "$@"`, 'sh', ...words], { cwd: PROJECT, stderr: 'pipe' });
    expect(piped.stderr.toString()).toStartWith('The input is compressed with gzip.');
  });
});
