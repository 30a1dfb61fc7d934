import { describe, expect, test } from 'bun:test';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../shared/db-files/open.ts';
import { commandEnvironment, fromSource, PROJECT, profilectl, profilectlWords } from '../support/cli.ts';
import { openTerminal } from '../support/machine/terminal.ts';
import { tempFolder, testDeps } from '../support/world.ts';

// What commands report about variables, and about files of other users.

/** A folder with these lines in `.env`. */
function folderWith(lines: string): string {
  const folder = tempFolder();
  writeFileSync(join(folder, '.env'), lines, { mode: 0o600 });
  return folder;
}

describe('a .env in the current folder', () => {
  test('is not read without --env-file, and every command that reads variables warns about it', async () => {
    const folder = folderWith('DATABASE_PATH=from-file.db\n');
    const unread = await profilectl(['keys', 'list'], { cwd: folder });
    expect(unread.stderr).toMatch(
      /^Warning: The file \S+\/\.env is not read; --env-file \.env reads it\.\nThere is no /,
    );
    expect(unread.stderr).toContain('data/profiles.db');
    expect(JSON.parse((await profilectl(['config', 'check', '--json'], { cwd: folder })).stdout).warnings[0]).toContain(
      'is not read',
    );
    const read = await profilectl(['keys', 'list', '--env-file', '.env'], { cwd: folder });
    expect(read.stderr).toMatch(/^There is no database at from-file\.db/);
  });

  test('is read by Bun when run from source', () => {
    const folder = folderWith('DATABASE_PATH=from-dot-env.db\nMIAL_URL=file:x\n');
    const { stderr } = Bun.spawnSync([...fromSource(), 'keys', 'list'], { cwd: folder, env: commandEnvironment() });
    expect(stderr.toString()).toMatch(
      /^Warning: \.env sets MIAL_URL, which is not read; did you mean MAIL_URL\?\nThere/,
    );
    expect(stderr.toString()).toContain('from-dot-env.db');
  });

  test('that Bun has read is named as an origin by config check, like the environment, --env-file and --db', () => {
    const folder = folderWith('PORT=4000\nLOG_LEVEL=warn\n');
    const file = join(folder, 'settings');
    writeFileSync(file, 'HOST=::1\nPORT=5000\n', { mode: 0o600 });
    const words = ['config', 'check', '--json', '--env-file', file, '--db', 'x/p.db'];
    const env = commandEnvironment({ ADMIN_EMAIL: 'a@example.org' });
    const { stdout } = Bun.spawnSync([...fromSource(), ...words], { cwd: folder, env });
    const { variables } = JSON.parse(stdout.toString()) as {
      variables: { name: string; value: string; from: string }[];
    };
    const found = Object.fromEntries(variables.map(({ name, value, from }) => [name, [value, from]]));
    expect(found).toMatchObject({
      DATABASE_PATH: ['x/p.db', '--db'],
      HOST: ['::1', '--env-file'],
      PORT: ['4000', '.env'],
      LOG_LEVEL: ['warn', '.env'],
      ADMIN_EMAIL: ['a@example.org', 'environment'],
      WORKERS: ['1', 'default'],
    });
  });

  test('that other users can read causes a warning if Bun reads it, as does the file of --env-file', () => {
    const { databasePath } = testDeps().config;
    const folder = folderWith(`DATABASE_PATH=${databasePath}\n`);
    const other = join(folder, 'settings');
    writeFileSync(other, `DATABASE_PATH=${databasePath}\n`);
    const list = (...words: string[]) => {
      const all = [...fromSource(), 'keys', 'list', ...words];
      const { exitCode, stderr } = Bun.spawnSync(all, { cwd: folder, env: commandEnvironment() });
      expect(exitCode).toBe(0);
      return stderr.toString();
    };
    const warning = (path: string, mode: number) =>
      `Warning: ${path} can be read by other users of this machine (mode ${mode}); chmod 600 it.\n`;
    chmodSync(join(folder, '.env'), 0o644);
    chmodSync(other, 0o604);
    expect(list('--env-file', other)).toBe(warning(other, 604) + warning('.env', 644));
    chmodSync(join(folder, '.env'), 0o600);
    chmodSync(other, 0o400);
    expect(list('--env-file', other)).toBe('');
  });
});

test('a misspelt name is reported before the problem that it causes', async () => {
  const variables = { HOST: '0.0.0.0', PUBLIC_ULR: 'https://lookup.example.org' };
  const { code, stderr } = await profilectl(['keys', 'list', '--db', '/nowhere.db'], { variables });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^Warning: The environment sets PUBLIC_ULR, .* mean PUBLIC_URL\?\nPUBLIC_URL must be set/);
});

test('config check never truncates values, however narrow the terminal', async () => {
  const path = `/${'a-long-folder/'.repeat(20)}profiles.db`;
  const terminal = openTerminal(['config', 'check'], { DATABASE_PATH: path });
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toContain(path);
});

// Root may use any file, so the test takes that right away from the command. 65534 is the user nobody.
const canTry = process.getuid?.() === 0 && Bun.which('setpriv') !== null;

test.skipIf(!canTry)('setpriv, as root: a file of another user is refused, naming both users', () => {
  const folder = tempFolder();
  const database = join(folder, 'p.db');
  openDatabase(database, 'serve').$client.close();
  const run = (...words: string[]) => {
    const command = ['setpriv', '--bounding-set=-all', '--inh-caps=-all', ...profilectlWords(words), '--db', database];
    const { exitCode, stderr } = Bun.spawnSync(command, { env: commandEnvironment() });
    return [exitCode, stderr.toString().trim()];
  };
  const refusal = (path: string) => [
    1,
    `${path} belongs to the user nobody, and this runs as root, who may not access it; run it as nobody, for example with "sudo -u nobody".`,
  ];
  const commands = [['keys', 'list'], ['serve'], ['profiles', 'import', join(PROJECT, 'shared/sample/profiles.jsonl')]];
  chownSync(database, 65_534, 65_534);
  for (const words of commands) expect([words, run(...words)]).toEqual([words, refusal(database)]);
  chownSync(folder, 65_534, 65_534);
  for (const words of commands) expect([words, run(...words)]).toEqual([words, refusal(folder)]);
});
