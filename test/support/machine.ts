import { Database } from 'bun:sqlite';
import { afterAll } from 'bun:test';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIGRATIONS } from '../../shared/db/migrate.ts';
import { cleanEnvironment, PROJECT, profilectlWords } from './cli.ts';
import { noteOutput } from './secret-search.ts';
import { eventually, tempFolder } from './world.ts';

/** Servers of tests end soon: compiling only code that has run for longer makes their starts a quarter cheaper. */
const LATE_JIT = { BUN_JSC_thresholdForJITAfterWarmUp: '5000', BUN_JSC_thresholdForJITSoon: '1000' };

/** A running process of `profilectl serve`. */
export type ServerProcess = Awaited<ReturnType<typeof startServerProcess>>;

/** Starts `profilectl serve` on any port, or another command, and waits for its URL. Killed when the test file is done. */
export async function startServerProcess(
  variables: Record<string, string>,
  { words = profilectlWords(['serve']), cwd = PROJECT }: { words?: readonly string[]; cwd?: string } = {},
) {
  const env = cleanEnvironment({ PORT: '0', ...LATE_JIT, ...variables });
  const child = Bun.spawn([...words], { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  afterAll(() => {
    child.kill('SIGKILL');
    noteOutput(printed);
  });
  const gather = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) printed += decoder.decode(chunk, { stream: true });
  };
  let isDone = false;
  const gathered = Promise.all([gather(child.stdout), gather(child.stderr)]).then(() => {
    isDone = true;
  });
  /** Waits until the output matches, and returns the match. */
  const see = (text: RegExp) => {
    const find = () => {
      const found = text.exec(printed);
      if (found === null && isDone) throw new Error(`The process has ended without ${text}: ${printed}`);
      return found;
    };
    return eventually(find, () => printed);
  };
  const [, url = ''] = await see(/Listening on (https?:\/\/[^"\s]*:\d+)\./);
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid,
    see,
    /** The output so far. */
    printed: () => printed,
    /** Sends a signal and returns the exit code. */
    end: async (signal: NodeJS.Signals = 'SIGTERM') => {
      child.kill(signal);
      const code = await child.exited;
      await gathered;
      return code;
    },
  };
}

const NEXT = nextMigration();

/**
 * The migration of a made-up next version, from the present schema: profiles get a column, and keys a state, `paused`. SQLite
 * can't change a check, so their table is made anew, with its indexes and triggers.
 */
function nextMigration(): string {
  using sqlite = new Database(':memory:');
  for (const migration of MIGRATIONS) sqlite.run(migration);
  const read = (query: string) => sqlite.query(query).values().flat() as string[];
  const made = read("SELECT sql FROM sqlite_schema WHERE tbl_name = 'api_keys' AND sql IS NOT NULL ORDER BY rowid");
  const [table = '', ...rest] = made;
  // In the order of the rows: of keys that were requested in one millisecond, it tells which came first.
  const copied = ['rowid', ...read("SELECT name FROM pragma_table_info('api_keys')")].join(', ');
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

/** Copies the program as the made-up next version, with one more migration; `words` run its `profilectl` from source. */
export function nextVersion() {
  const folder = tempFolder();
  for (const part of ['cli', 'server', 'shared', 'drizzle', 'package.json', 'tsconfig.json']) {
    cpSync(join(PROJECT, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  const file = join(folder, 'shared/db/migrate.ts');
  const text = readFileSync(file, 'utf8');
  if (!text.includes('= [first];')) throw new Error(`${file} has changed: adapt nextVersion().`);
  writeFileSync(
    file,
    text.replace('= [first];', () => `= [first, ${JSON.stringify(NEXT)}];`),
  );
  return { folder, words: [process.execPath, '--no-env-file', join(folder, 'cli/main.ts')] };
}
