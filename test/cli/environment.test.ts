import { describe, expect, test } from 'bun:test';
import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VARIABLES } from '../../shared/config/variables.ts';
import { openDatabase } from '../../shared/db/open.ts';
import { cleanEnvironment, PROJECT, profilectl, profilectlWords } from '../support/cli.ts';
import { openTerminal } from '../support/terminal.ts';
import { tempFolder } from '../support/world.ts';

// What commands say of the variables, and of files that are not the operator's own.

/** A folder whose `.env` sets these lines. */
function folderWith(lines: string): string {
  const folder = tempFolder();
  writeFileSync(join(folder, '.env'), lines, { mode: 0o600 });
  return folder;
}

describe('a .env in the current folder', () => {
  test('that is not read is named by every command that reads variables, and read where --env-file names it', async () => {
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

  test('is read by Bun where the source is run, as the README says', () => {
    const folder = folderWith('DATABASE_PATH=from-dot-env.db\nMIAL_URL=file:x\n');
    const words = [process.execPath, join(PROJECT, 'cli/main.ts'), 'keys', 'list'];
    const { stderr } = Bun.spawnSync(words, { cwd: folder, env: cleanEnvironment() });
    expect(stderr.toString()).toMatch(
      /^Warning: \.env sets MIAL_URL, which is not read; did you mean MAIL_URL\?\nThere/,
    );
    expect(stderr.toString()).toContain('from-dot-env.db');
  });
});

test('a mistyped name is told before the fault that follows from it', async () => {
  const variables = { HOST: '0.0.0.0', PUBLIC_ULR: 'https://lookup.example.org' };
  const { code, stderr } = await profilectl(['keys', 'list', '--db', '/nowhere.db'], { variables });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^Warning: The environment sets PUBLIC_ULR, .* mean PUBLIC_URL\?\nPUBLIC_URL must be set/);
});

test('config check shows values whole, however narrow the terminal', async () => {
  const path = `/${'a-long-folder/'.repeat(20)}profiles.db`;
  const terminal = openTerminal(['config', 'check'], { DATABASE_PATH: path });
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toContain(path);
});

test('help environment and serve --help tell every variable with its default', async () => {
  for (const words of [
    ['help', 'environment'],
    ['serve', '--help'],
  ]) {
    const { code, stdout } = await profilectl(words);
    expect(code).toBe(0);
    const text = stdout.replace(/\s+/g, ' ');
    for (const [name, variable] of Object.entries(VARIABLES)) {
      expect(text).toContain(`${name} ${variable.meaning}`);
      if (variable.default !== '') expect(text).toContain(`(default: ${variable.default})`);
    }
  }
});

// Root may use any file, so the test takes that right away from the command. 65534 is nobody.
const canTry = process.getuid?.() === 0 && Bun.which('setpriv') !== null;

test.skipIf(!canTry)('setpriv, as root: what belongs to another user is named with both users', () => {
  const folder = tempFolder();
  const database = join(folder, 'p.db');
  openDatabase(database, 'serve').$client.close();
  const run = (...words: string[]) => {
    const command = ['setpriv', '--bounding-set=-all', '--inh-caps=-all', ...profilectlWords(words), '--db', database];
    const { exitCode, stderr } = Bun.spawnSync(command, { env: cleanEnvironment() });
    return [exitCode, stderr.toString().trim()];
  };
  const refusal = (path: string) => [
    1,
    `${path} belongs to the user nobody, and this runs as root, who may not use it; run it as nobody, for example with "sudo -u nobody".`,
  ];
  const commands = [['keys', 'list'], ['serve'], ['profiles', 'import', join(PROJECT, 'shared/sample/profiles.jsonl')]];
  chownSync(database, 65_534, 65_534);
  for (const words of commands) expect([words, run(...words)]).toEqual([words, refusal(database)]);
  chownSync(folder, 65_534, 65_534);
  for (const words of commands) expect([words, run(...words)]).toEqual([words, refusal(folder)]);
});
