import { expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../shared/db-files/open.ts';
import { cleanEnvironment, commandEnvironment, fromSource, PROJECT } from './support/cli.ts';
import { get } from './support/http.ts';
import { startServerProcess } from './support/machine/server-process.ts';
import { tempFolder } from './support/world.ts';

// Loading files that are not used slows down every start without being noticed. Each process here lists at its end
// or at a signal, which files it has loaded: Bun keeps those of `import` and of `require` in one place, except main.ts, which is
// still running.

const folder = tempFolder();
const LIST = join(folder, 'loaded.txt');
const PRELOAD = join(folder, 'preload.ts');
writeFileSync(
  PRELOAD,
  `const list = () => {
    require('node:fs').writeFileSync('${LIST}.new', Object.keys(require.cache).join('\\n'));
    require('node:fs').renameSync('${LIST}.new', '${LIST}');
  };
  process.on('exit', list).on('SIGUSR2', list);`,
);
const DATABASE_PATH = join(folder, 'profiles.db');
openDatabase(DATABASE_PATH, 'serve').$client.close();

/** The built-in modules imported by the files of ours that the last process loaded. */
function builtinsOfLoaded(): string[] {
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  const found = loaded('cli/', 'shared/', 'server/')
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => transpiler.scanImports(readFileSync(join(PROJECT, path), 'utf8')))
    .filter(({ kind, path }) => kind === 'import-statement' && path.startsWith('node:'));
  return [...new Set(found.map(({ path }) => path))].sort();
}

/** `profilectl` with these words, as a process that lists the files it loads. */
function listing(words: string[]): string[] {
  return [...fromSource('--no-env-file', '--preload', PRELOAD), ...words];
}

/** The packages that the last process loaded, and its files in these folders of ours. */
function loaded(...folders: string[]): string[] {
  const paths = readFileSync(LIST, 'utf8').split('\n');
  const found = paths.flatMap((path) => {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? [];
    const own = path.startsWith(`${PROJECT}/`) ? path.slice(PROJECT.length + 1) : '';
    if (name !== undefined) return [name];
    return folders.some((prefix) => own.startsWith(prefix)) ? [own] : [];
  });
  return [...new Set(found)].sort();
}

/** Whether the last process loaded zod with its methods: the variables need only zod/mini, a third of it. */
function hasWholeZod(): boolean {
  return readFileSync(LIST, 'utf8').includes('/zod/v4/classic/');
}

function run(...words: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(listing(words), {
    env: commandEnvironment({ DATABASE_PATH }),
    cwd: PROJECT,
  });
  expect([exitCode, stderr.toString()]).toEqual([0, '']);
}

test('--help loads only the command line, and none of the commands', () => {
  run('--help');
  expect(loaded('cli/', 'server/', 'shared/db')).toEqual([
    'cli/help/version.ts',
    'cli/program.ts',
    'cli/remote/command-scope.ts',
    'cli/terminal/faults.ts',
    'cli/terminal/stdout.ts',
    'cli/terminal/words.ts',
    'commander',
  ]);
});

test('version loads no schema', () => {
  run('version');
  expect(loaded('shared/keys/')).toEqual(['commander']);
  expect(loaded()).not.toContain('zod');
});

test('a command loads no other command, and no database or server unless it uses them', () => {
  run('keys', 'check', '--help');
  const used = loaded('server/', 'shared/db', 'cli/keys/', 'cli/profiles/');
  // The values of key columns, a few lists.
  expect(used.filter((name) => name.endsWith('.ts'))).toEqual(['cli/keys/check.ts', 'shared/db/key-columns.ts']);
  expect(used).not.toContain('drizzle-orm');
  // It reads no variables, and so loads no schema.
  expect(used).not.toContain('zod');
  run('healthcheck', '--help');
  // It reads the variables.
  expect(loaded('server/', 'shared/db', 'cli/keys/')).toEqual(['commander', 'zod']);
  expect(hasWholeZod()).toBe(false);
});

test('a command loads what it uses: the database and schemas, but no prompts, mail or server', () => {
  run('keys', 'list');
  expect(loaded('server/', 'cli/profiles/')).toEqual(['commander', 'drizzle-orm', 'zod']);
  // Commands about admins on the server itself do not check passkeys.
  run('admins', 'list', '--json');
  expect(loaded('server/')).toEqual(['commander', 'drizzle-orm', 'zod']);
});

test('the server starts and answers without schemas of bodies, prompts, mail or slow modules of Bun, and loads the document on request', async () => {
  const environment = cleanEnvironment({ PORT: '0', DATABASE_PATH });
  const server = await startServerProcess({}, { words: listing(['serve']), environment });
  const ask = async (...paths: string[]) => {
    const asked = (path: string) => (path.startsWith('/developers') ? fetch(server.url + path) : get(server, path));
    for (const path of paths) expect((await asked(path)).status).toBe(200);
    rmSync(LIST, { force: true });
    server.signal('SIGUSR2');
    while (!existsSync(LIST)) await Bun.sleep(5);
    return loaded('server/docs/', 'server/process/workers/', 'shared/api/', 'shared/mail/m');
  };
  const started = await ask('/readyz');
  const parts = [
    'nodemailer',
    '@simplewebauthn/server',
    'inquirer',
    '@inquirer/core',
    'server/docs/served.ts',
    'server/process/workers/coordinator.ts',
  ];
  for (const part of [...parts, 'server/docs/page/page.ts', 'shared/api/bodies.ts'])
    expect(started).not.toContain(part);
  expect(started).toContain('elysia');
  expect(hasWholeZod()).toBe(false);
  // node:worker_threads takes 1.5 ms. Warnings on certificates need node:crypto; Commander loads the rest but node:net.
  const builtins = ['buffer', 'child_process', 'crypto', 'fs', 'net', 'path', 'util'];
  expect(builtinsOfLoaded()).toEqual(builtins.map((name) => `node:${name}`));
  const asked = await ask('/developers', '/developers/admin/sign-in', '/openapi.json', '/docs');
  // The pages' own thread loads it.
  expect(loaded()).not.toContain('@simplewebauthn/server');
  for (const part of ['server/docs/served.ts', 'server/docs/page/page.ts']) expect(asked).toContain(part);
  // The document was made at build time: the code that makes it is not loaded.
  expect(asked).not.toContain('server/docs/openapi/document.ts');
  expect(hasWholeZod()).toBe(false);
  expect(await server.end()).toBe(0);
});
