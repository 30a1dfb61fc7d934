import { Database } from 'bun:sqlite';
import { afterAll } from 'bun:test';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { openFile } from '../../shared/db/connect.ts';
import { MIGRATIONS, migrate } from '../../shared/db/migrate.ts';
import { cleanEnvironment, LATE_JIT, PROJECT, profilectlWords } from './cli.ts';
import { noteOutput } from './secret-search.ts';
import { tempFolder } from './world.ts';

/** A running process of `profilectl serve`. */
export type ServerProcess = {
  url: string;
  port: number;
  pid: number;
  /** The output so far. */
  printed: () => string;
  /** Waits until the output matches, and returns the match. Fails after a time limit, with the output. */
  see: (text: RegExp) => Promise<RegExpExecArray>;
  signal: (name: NodeJS.Signals) => void;
  /** Sends a signal and returns the exit code. */
  end: (signal?: NodeJS.Signals) => Promise<number>;
};

/** Options: another command, environment or folder, another line that contains the URL, a longer time limit. */
export type ServerProcessOptions = {
  words?: readonly string[];
  environment?: Record<string, string>;
  cwd?: string;
  listening?: RegExp;
  patienceMs?: number;
};

const TIME_LIMIT_MS = 20_000;

/** Starts `profilectl serve` on any port and waits for its URL. Killed when the test file is done. */
export async function startServerProcess(
  variables: Record<string, string>,
  options: ServerProcessOptions = {},
): Promise<ServerProcess> {
  const child = Bun.spawn([...(options.words ?? profilectlWords(['serve']))], {
    env: options.environment ?? cleanEnvironment({ PORT: '0', ...LATE_JIT, ...variables }),
    cwd: options.cwd ?? PROJECT,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let printed = '';
  afterAll(() => {
    child.kill('SIGKILL');
    noteOutput(printed);
  });
  let wake = () => {};
  const gather = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      printed += decoder.decode(chunk, { stream: true });
      wake();
    }
  };
  const gathered = Promise.all([gather(child.stdout), gather(child.stderr)]);
  const see = async (text: RegExp): Promise<RegExpExecArray> => {
    const deadline = performance.now() + (options.patienceMs ?? TIME_LIMIT_MS);
    for (;;) {
      const found = text.exec(printed);
      if (found !== null) return found;
      if (child.exitCode !== null) await gathered;
      else if (performance.now() < deadline) {
        await Promise.race([new Promise<void>((resolve) => (wake = resolve)), Bun.sleep(200)]);
        continue;
      }
      const late = text.exec(printed);
      if (late !== null) return late;
      throw new Error(`never printed ${text}, but: ${printed}`);
    }
  };
  const end = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    const code = await child.exited;
    await gathered;
    return code;
  };
  const [, url = ''] = await see(options.listening ?? /Listening on (https?:\/\/[^"\s]*:\d+)\./);
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid,
    printed: () => printed,
    see,
    signal: (name) => void child.kill(name),
    end,
  };
}

/** A file system for one test, which can be filled, emptied and mounted read-only. */
export type SmallDisk = {
  folder: string;
  /** Fills the disk, but leaves this many bytes free. */
  fill: (leave?: number) => void;
  empty: () => void;
  /** Mounts the same files read-only at another path, which it returns. */
  showReadOnly: () => string;
};

/** Why no file system can be mounted here (that needs root, as in CI), or null if one can. */
export const NO_MOUNT = mountFault();

function run(...words: string[]): number {
  return Bun.spawnSync(words, { stdout: 'ignore', stderr: 'ignore' }).exitCode;
}

function mountFault(): string | null {
  if (process.platform !== 'linux') return 'a file system can be mounted on Linux only';
  const folder = join(tempFolder(), 'probe');
  mkdirSync(folder);
  if (run('mount', '-t', 'tmpfs', '-o', 'size=64k', 'profile-lookup-test', folder) !== 0)
    return 'mounting is not permitted';
  run('umount', folder);
  return null;
}

/** Mounts a tmpfs of this many bytes, and unmounts it when the test file is done. */
export function mountSmallDisk(bytes: number): SmallDisk {
  const parent = tempFolder();
  const folder = join(parent, 'disk');
  const readOnly = join(parent, 'read-only');
  mkdirSync(folder);
  mkdirSync(readOnly);
  if (run('mount', '-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'profile-lookup-test', folder) !== 0) {
    throw new Error('The file system could not be mounted.');
  }
  afterAll(() => {
    // A lazy unmount, because processes may still have files open.
    run('umount', '-l', readOnly);
    run('umount', '-l', folder);
  });
  const filler = join(folder, 'filler');
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };
  return {
    folder,
    fill: (leave = 0) => writeFileSync(filler, Buffer.alloc(Math.max(0, freeBytes() - leave))),
    empty: () => rmSync(filler),
    showReadOnly: () => {
      if (run('mount', '--bind', folder, readOnly) + run('mount', '-o', 'remount,bind,ro', readOnly) !== 0) {
        throw new Error('The file system could not be mounted a second time.');
      }
      return readOnly;
    },
  };
}

/** Whether a process has a file open; Linux only. */
export function isOpenIn(pid: number, path: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((name) => readlinkSync(`/proc/${pid}/fd/${name}`) === path);
  } catch {
    return false; // It has closed a file, or ended.
  }
}

/** Whether strace (Debian: strace) is installed and permitted to trace, for watching and failing system calls. */
export const HAS_STRACE =
  Bun.which('strace') !== null && Bun.spawnSync(['strace', '-qq', '-o', '/dev/null', 'true']).success;

const NEXT = nextMigration();

/**
 * The migration of a made-up next version, from the present schema: profiles get a column, and keys a state, `paused`. SQLite
 * can't change a check, so their table is made anew, with its indexes and triggers.
 */
function nextMigration(): string {
  using sqlite = new Database(':memory:');
  for (const migration of MIGRATIONS) sqlite.run(migration);
  const made = sqlite.query(
    "SELECT sql FROM sqlite_schema WHERE tbl_name = 'api_keys' AND sql IS NOT NULL ORDER BY rowid",
  );
  const [table = '', ...rest] = made.values().flat() as string[];
  const columns = sqlite.query("SELECT name FROM pragma_table_info('api_keys')").values().flat();
  // In the order of the rows: of keys that were requested in one millisecond, it tells which came first.
  const copied = ['rowid', ...columns].join(', ');
  return [
    'ALTER TABLE profiles ADD pronouns text CONSTRAINT profiles_pronouns CHECK(length(pronouns) <= 40)',
    table.replace('"api_keys"', 'next_keys').replaceAll("'suspended'", "'suspended', 'paused'"),
    `INSERT INTO next_keys (${copied}) SELECT ${copied} FROM api_keys`,
    'DROP TABLE api_keys',
    'ALTER TABLE next_keys RENAME TO api_keys',
    ...rest,
    '',
  ].join(';\n');
}

/** The migrations of a made-up next version. */
export const NEXT_MIGRATIONS: readonly string[] = [...MIGRATIONS, NEXT];

/** Makes a database as the current version does, or with these migrations. `fill` are statements that add content. */
export function makeDatabase(path: string, fill: readonly string[] = [], migrations = MIGRATIONS): void {
  const sqlite = openFile(path, 1000);
  migrate(sqlite, path, migrations);
  for (const statement of fill) sqlite.run(statement);
  sqlite.close();
}

/** A program's folder, and the command that runs its `profilectl` from source. */
export type Program = { folder: string; words: string[] };

/** Copies the program as the made-up next version 99.0.0, with one more migration. */
export function nextVersion(): Program {
  const folder = tempFolder();
  for (const part of ['cli', 'server', 'shared', 'drizzle', 'package.json', 'tsconfig.json']) {
    cpSync(join(PROJECT, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  const edit = (file: string, before: string | RegExp, after: string) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const edited = text.replace(before, () => after);
    if (edited === text) throw new Error(`${file} has changed: adapt nextVersion().`);
    writeFileSync(join(folder, file), edited);
  };
  edit('package.json', /"version": "[^"]+"/, '"version": "99.0.0"');
  edit('shared/db/migrate.ts', '= [first];', `= [first, ${JSON.stringify(NEXT)}];`);
  return { folder, words: [process.execPath, '--no-env-file', join(folder, 'cli/main.ts')] };
}
