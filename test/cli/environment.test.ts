import { expect, test } from 'bun:test';
import { chmodSync, chownSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../shared/files/open.ts';
import { commandEnvironment, PROJECT, profilectl, profilectlWords } from '../support/cli.ts';
import { tempFolder, testDeps } from '../support/world.ts';
import { openTerminal, runCommand } from './commands.ts';

// What commands report about variables, and about files of other users.

test('a .env in the current folder is read only with --env-file', async () => {
  const folder = tempFolder();
  writeFileSync(join(folder, '.env'), 'DATABASE_PATH=from-file.db\n', { mode: 0o600 });
  const words = ['keys', 'list'];
  const { stderr } = await profilectl(words, { cwd: folder });
  expect(stderr).toMatch(/^There is no database at data\/profiles\.db/);
  const read = await profilectl([...words, '--env-file', '.env'], { cwd: folder });
  expect(read.stderr).toMatch(/^There is no database at from-file\.db/);
});

test('config check names the environment, the file and --db as origins', async () => {
  const file = join(tempFolder(), 'settings');
  writeFileSync(file, 'HOST=::1\nPORT=5000\n', { mode: 0o600 });
  const words = ['config', 'check', '--json', '--env-file', file, '--db', 'x/p.db'];
  const { stdout } = await runCommand(words, { variables: { PORT: '4000' } });
  const { variables } = JSON.parse(stdout) as { variables: { name: string; value: string; from: string }[] };
  const found = Object.fromEntries(variables.map(({ name, value, from }) => [name, [value, from]]));
  expect(found).toMatchObject({
    DATABASE_PATH: ['x/p.db', '--db'],
    HOST: ['::1', file],
    PORT: ['4000', 'environment'],
    LOG_LEVEL: ['info', 'default'],
  });
});

test('a file of variables that all users may read causes a warning', async () => {
  const { databasePath } = testDeps().config;
  const file = join(tempFolder(), 'settings');
  writeFileSync(file, `DATABASE_PATH=${databasePath}\n`);
  const list = () => runCommand(['keys', 'list', '--env-file', file]);
  chmodSync(file, 0o644);
  expect((await list()).stderr).toStartWith(`Warning: ${file} is open to all users`);
  chmodSync(file, 0o640);
  expect(await list()).toMatchObject({ code: 0, stderr: '' });
});

test('a misspelt name in a file is refused with its line', async () => {
  const file = join(tempFolder(), 'settings');
  writeFileSync(file, 'HOST=127.0.0.1\nPUBLIC_ULR=https://lookup.example.org\n', { mode: 0o600 });
  const { code, stderr } = await runCommand(['keys', 'list', '--env-file', file]);
  expect(code).toBe(2);
  expect(stderr).toContain(`${file}, line 2: PUBLIC_ULR is not a variable of this program`);
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

const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
const canBeNobody = canTry && Bun.spawnSync([...asNobody, process.execPath, '--version']).exitCode === 0;

test.skipIf(!canBeNobody)('a database in a folder of root’s needs one of its own; a backup needs another', () => {
  const [roots, nobodys] = [tempFolder(), tempFolder()];
  const [closed, open] = [roots, nobodys].map((folder) => join(folder, 'p.db'));
  openDatabase(open as string, 'serve').$client.close();
  for (const path of [nobodys, open as string]) chownSync(path, 65_534, 65_534);
  const run = (...words: string[]) => {
    const { stderr } = Bun.spawnSync([...asNobody, ...profilectlWords(words)], { env: commandEnvironment() });
    return stderr.toString().trim();
  };
  expect(run('serve', '--db', closed as string)).toEndWith(
    'the database needs a folder of its own, which belongs to the user nobody (65534).',
  );
  // Never the folder above, which may be /var/lib.
  const own = join(roots, 'own');
  chmodSync(roots, 0o755);
  expect(run('serve', '--db', join(own, 'p.db'))).toEndWith(
    `make a folder for the database, as root: "install -d -m 0700 -o 65534 ${own}".`,
  );
  const backup = join(roots, 'backup.db');
  expect(run('db', 'backup', backup, '--db', open as string)).toBe(
    `${backup} can't be written by nobody (EACCES); choose another folder.`,
  );
});

test.skipIf(process.getuid?.() !== 0)('a database that root creates belongs to the owner of its folder', () => {
  const folder = tempFolder();
  chownSync(folder, 65_534, 65_534);
  const words = ['--db', join(folder, 'p.db'), 'profiles', 'import', join(PROJECT, 'shared/sample/profiles.jsonl')];
  expect(Bun.spawnSync(profilectlWords(words), { env: commandEnvironment() }).exitCode).toBe(0);
  for (const name of readdirSync(folder)) expect([name, statSync(join(folder, name)).uid]).toEqual([name, 65_534]);
});
