import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandEnvironment, type Finished, profilectlWords } from '../support/cli.ts';
import { importLines } from '../support/profiles.ts';
import { noteOutput } from '../support/secret-search.ts';
import { tempFolder, testDeps } from '../support/world.ts';
import { runCommand } from './commands.ts';

// Arguments, variables and files that nobody types on purpose, but that the shell or another program may pass.

/** Runs a shell line in which "$@" is `profilectl` with these words: a shell can pass bytes that are not UTF-8. */
async function shell(line: string, words: readonly string[], cwd: string): Promise<Finished> {
  const child = Bun.spawn(['sh', '-c', line, 'sh', ...profilectlWords(words)], {
    env: commandEnvironment(),
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  noteOutput(stdout + stderr);
  return { code: await child.exited, stdout, stderr };
}

/** A folder with a database with Ada, and files of odd kinds. */
async function world() {
  const deps = testDeps();
  const { folder } = deps;
  const { databasePath: db } = deps.config;
  await importLines(deps, [{ id: 1, username: 'ada' }]);
  const directory = join(folder, 'directory');
  mkdirSync(directory);
  const pipe = join(folder, 'pipe');
  expect(Bun.spawnSync(['mkfifo', pipe]).exitCode).toBe(0);
  const latin = join(folder, 'latin');
  writeFileSync(latin, Buffer.from('X=caf\xe9\n', 'latin1'), { mode: 0o600 });
  const run = (...words: string[]) => runCommand([...words, '--db', db]);
  return { folder, db, directory, pipe, latin, run };
}

describe('variables that are not UTF-8', () => {
  test('are refused, naming the variable, and no file is created', async () => {
    const folder = tempFolder();
    const lines = [`DATABASE_PATH="$(printf 'x\\377.db')" exec "$@"`, `MAIL_FROM="$(printf '\\377@x')" exec "$@"`];
    for (const line of lines) {
      const done = await shell(line, ['serve'], folder);
      expect(done.stderr).toMatch(/^(DATABASE_PATH|MAIL_FROM) must be valid UTF-8, without U\+FFFD\.\n$/);
      expect(done.code).toBe(2);
    }
    const checked = await shell(`PORT="$(printf '1\\377')" exec "$@"`, ['config', 'check', '--json'], folder);
    expect(JSON.parse(checked.stdout).faults).toEqual(['PORT must be valid UTF-8, without U+FFFD.']);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a folder and an endless file', () => {
  test('are refused as --env-file or a variable’s file, in one sentence (exit code 2)', async () => {
    const { directory, latin, run, db } = await world();
    const cases: [string, RegExp][] = [
      [directory, /can't be read/],
      ['/dev/zero', /larger than 1024 KiB/],
      [latin, /must name a UTF-8 text file/],
      [join(directory, 'none'), /can't be read/],
    ];
    for (const [path, sentence] of cases) {
      const given = await run('status', '--env-file', path);
      expect(given.stderr).toMatch(/^--env-file (names|must)/);
      expect(given.stderr).toMatch(sentence);
      expect(given).toMatchObject({ code: 2, stdout: '' });
    }
    // The same function reads all files that a person names.
    const named = await runCommand(['status', '--db', db], { variables: { MAIL_URL_FILE: directory } });
    expect(named).toMatchObject({ code: 2, stderr: `MAIL_URL_FILE names a file that can't be read: ${directory}.\n` });
  }, 60_000);

  test('are refused as stdin or a file with text, in one sentence and not as a bug', async () => {
    const { folder, latin, run } = await world();
    const imported = await shell('exec "$@" < directory', ['profiles', 'import', '-', '--db', 'profiles.db'], folder);
    const isFolder = 'The input is a folder, not a file of JSON Lines.\n';
    expect(imported).toEqual({ code: 1, stdout: '', stderr: isFolder });
    const request = ['keys', 'request', '--profile', 'ada', '--name', 'x', '--permission', 'api.lookup'];
    const reading = [...request, '--description-file', '-'];
    const done = await shell('exec "$@" --db profiles.db < directory', reading, folder);
    expect(done).toEqual({ code: 2, stdout: '', stderr: "Standard input can't be read (EISDIR).\n" });
    const endless = await shell('exec "$@" --db profiles.db < /dev/zero', reading, folder);
    const tooLong = '--description-file names a file larger than 64 KiB: stdin.\n';
    expect(endless).toEqual({ code: 2, stdout: '', stderr: tooLong });
    const sentence = expect.stringContaining('must name a UTF-8 text file');
    expect(await run(...request, '--description-file', latin)).toEqual({ code: 2, stdout: '', stderr: sentence });
  }, 60_000);

  test('are refused as --rejects before anything is imported', async () => {
    const { folder, directory, pipe, run } = await world();
    const file = join(folder, 'lines');
    writeFileSync(file, '{"id":2,"username":"bob"}\n');
    for (const [path, code] of [
      [directory, 'EISDIR'],
      [pipe, 'ENXIO'],
    ] as const) {
      const done = await run('profiles', 'import', file, '--rejects', path);
      const stderr = expect.stringContaining(`can't be written (${code})`);
      expect(done).toMatchObject({ code: 1, stdout: '', stderr });
    }
    expect((await run('profiles', 'show', 'bob')).code).toBe(1);
  });
});

test('variables are read from a slow pipe, and refused lines are written to a pipe', async () => {
  const { folder } = await world();
  const late = `mkfifo late; (printf 'PO'; sleep 0.3; printf 'RT=4444\\n') > late & exec "$@" --env-file late`;
  const checked = await shell(late, ['config', 'check', '--json'], folder);
  const variables = JSON.parse(checked.stdout).variables as { name: string; value: string }[];
  expect(variables.find(({ name }) => name === 'PORT')?.value).toBe('4444');
  const refused = await shell(
    `cat pipe > copy & printf '{"id":"x"}\\n{"id":2,"username":"bob"}\\n' | "$@" --rejects pipe; wait; cat copy`,
    ['profiles', 'import', '-', '--db', 'profiles.db'],
    folder,
  );
  expect(refused.stdout).toContain('{"id":"x"}\n');
});
