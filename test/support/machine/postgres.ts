import { afterAll } from 'bun:test';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanEnvironment, type Finished } from '../cli.ts';

/** A PostgreSQL server for one test, which listens only on a Unix socket. */
export type Postgres = {
  /** What clients need: a PATH that begins with its programs, the folder of the socket, and the database. */
  environment: { PATH: string; PGHOST: string; PGDATABASE: string };
  /** Runs statements as this role, each in its own transaction. Throws if one fails; returns the output. */
  sql: (statements: string, role?: string) => Promise<string>;
  /** Begins a transaction with these statements, and returns a function that commits it. */
  begin: (statements: string) => Promise<() => Promise<void>>;
};

/** The owner of the tables. */
export const OWNER = 'platform';

/** PostgreSQL refuses to run as root, so root starts it as the user nobody. */
const NOBODY = 65_534;

const START_LIMIT_MS = 20_000;

/** The folder with the programs of the newest PostgreSQL from Debian's packages; null if none is installed. */
export function postgresFolder(): string | null {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER) : [];
  const folders = versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(DEBIAN_FOLDER, version, 'bin'));
  return folders.find((folder) => existsSync(join(folder, 'initdb'))) ?? null;
}

const DEBIAN_FOLDER = '/usr/lib/postgresql';

/** Creates a database in a temporary folder and starts its server; both are removed when the test file is done. */
export async function startPostgres(): Promise<Postgres> {
  const programs = postgresFolder();
  if (programs === null) throw new Error('PostgreSQL is not installed.');
  const isRoot = process.getuid?.() === 0;
  // The user nobody may not enter the folder of a test run. A socket's path has at most 107 bytes.
  const folder = mkdtempSync(join(isRoot ? '/tmp' : tmpdir(), 'profile-lookup-pg-'));
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const asOwner = isRoot ? [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
  const words = (program: string, ...more: string[]) => {
    // The server is killed when this process ends for any reason.
    return ['setpriv', ...asOwner, '--pdeathsig', 'QUIT', join(programs, program), ...more];
  };
  const data = join(folder, 'data');
  const quick = ['--no-sync', '--no-instructions', '--auth=trust', '--locale=C.UTF-8', '--encoding=UTF8'];
  await finish(Bun.spawn(words('initdb', '-D', data, '-U', OWNER, ...quick), OPTIONS));
  const settings = ['listen_addresses=', 'fsync=off', 'shared_buffers=1MB', `unix_socket_directories=${folder}`];
  const server = Bun.spawn(words('postgres', '-D', data, ...settings.flatMap((each) => ['-c', each])), {
    ...OPTIONS,
    stdout: 'ignore',
    stderr: Bun.file(join(folder, 'log')),
  });
  afterAll(async () => {
    server.kill('SIGQUIT');
    await server.exited;
    rmSync(folder, { recursive: true, force: true });
  });
  const environment = { PATH: `${programs}:${process.env.PATH}`, PGHOST: folder, PGDATABASE: 'postgres' };
  const psql = (role: string, ...more: string[]) => ['psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-U', role, ...more];
  const env = cleanEnvironment(environment);
  const sql: Postgres['sql'] = async (statements, role = OWNER) =>
    (await finish(Bun.spawn(psql(role), { env, stdio: [new Blob([statements]), 'pipe', 'pipe'] }))).stdout;
  for (const deadline = performance.now() + START_LIMIT_MS; ; await Bun.sleep(20)) {
    const isUp = await sql('SELECT 1').then(
      () => true,
      () => false,
    );
    if (isUp) break;
    if (server.exitCode !== null || performance.now() > deadline) {
      throw new Error(`PostgreSQL did not start: ${await Bun.file(join(folder, 'log')).text()}`);
    }
  }
  return { environment, sql, begin: (statements) => beginTransaction(psql(OWNER), env, statements) };
}

const OPTIONS = { cwd: '/', stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' } as const;

async function beginTransaction(words: string[], env: Record<string, string>, statements: string) {
  const client = Bun.spawn(words, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  client.stdin.write(`BEGIN; ${statements}; SELECT 'open';\n`);
  await client.stdin.flush();
  const output = client.stdout.getReader();
  const { value } = await output.read();
  if (new TextDecoder().decode(value) !== 'open\n') throw new Error('The transaction did not begin.');
  return async () => {
    client.stdin.write('COMMIT;\n');
    await client.stdin.end();
    if ((await client.exited) !== 0) throw new Error('The transaction was not committed.');
  };
}

/** Waits until a process ends. Throws its stderr if it fails. */
async function finish(child: Bun.Subprocess<'ignore' | Blob, 'pipe', 'pipe'>): Promise<Finished> {
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const code = await child.exited;
  if (code !== 0) throw new Error(`PostgreSQL failed: ${stderr}`);
  return { code, stdout, stderr };
}
