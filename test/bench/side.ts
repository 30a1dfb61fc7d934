import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, PROJECT } from '../support/cli.ts';
import { DESCRIPTION } from '../support/keys.ts';
import { lineOf, usernameOf } from './profiles.ts';

// The two checkouts that are compared: each compiled as users install it, with its own database, made by its own commands.

/** A run of the benchmark: its options, a folder that lasts only for the run, and the processes to end after it. */
export type Bench = {
  rounds: number;
  seconds: number;
  profiles: number;
  folder: string;
  children: Set<Bun.Subprocess>;
};

/** The server under load has its own core; the load generator has another. */
export const CORE = { server: '0', client: '1', any: '0,1' } as const;

/** A compiled checkout. Its server reads clients' addresses as behind a proxy, and writes mails to a folder. */
export type Side = {
  binary: string;
  mails: string;
  variables: Record<string, string>;
  /** The secrets of a profile's keys: several, because batches need more than the largest quota of one. */
  secrets: string[];
  /** A backend's token that may send profiles. */
  token: string;
  /** Where the keys' server listens; only one server runs on a database at a time. */
  start: () => Promise<Target>;
};

/** A running server. */
export type Target = { port: number; pid: number; stop: () => Promise<void> };

export type Pair<T> = { mine: T; theirs: T };

const KEYS = 3;
const TIME_LIMIT_MS = 30_000;

/** Starts a process on a core, with its output in a file, or dropped. */
export function spawn(
  bench: Bench,
  words: readonly string[],
  core: (typeof CORE)[keyof typeof CORE],
  { variables = {}, output = '/dev/null' }: { variables?: Record<string, string>; output?: string } = {},
): Bun.Subprocess {
  const file = openSync(output, 'a');
  const child = Bun.spawn(['taskset', '-c', core, ...words], {
    cwd: PROJECT,
    env: cleanEnvironment(variables),
    stdio: ['ignore', file, file],
  });
  closeSync(file);
  bench.children.add(child);
  void child.exited.then(() => bench.children.delete(child));
  return child;
}

/** Runs a process to its end, and returns its output. Throws if it fails. */
export function run(words: readonly string[], variables: Record<string, string> = {}): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...words], { cwd: PROJECT, env: cleanEnvironment(variables) });
  if (exitCode !== 0) throw new Error(`${words.join(' ')} ended with ${exitCode}: ${stderr}`);
  return stdout.toString();
}

/** Compiles a checkout, and makes its database with the generated profiles, keys and a token. */
export function makeSide(bench: Bench, checkout: string, name: string): Side {
  const binary = join(bench.folder, `${name}-profilectl`);
  run([process.execPath, join(checkout, 'cli/build.ts'), binary, 'bench']);
  const mails = join(bench.folder, `${name}-mails`);
  const database = join(bench.folder, `${name}.db`);
  const variables = { DATABASE_PATH: database, TRUSTED_PROXIES: '127.0.0.1', MAIL_URL: `file:${mails}` };
  const profilectl = (...words: string[]) => run([binary, ...words], variables).trim();
  profilectl('profiles', 'import', linesFile(bench));
  const secrets = Array.from({ length: KEYS }, (_, at) => {
    const about = ['--profile', usernameOf(1), '--name', `Bench ${at}`, '--description', DESCRIPTION];
    const permissions = ['--permission', 'api.lookup', '--permission', 'api.leaderboard'];
    const [identifier = ''] = profilectl('keys', 'request', ...about, ...permissions).split(/\s/);
    profilectl('keys', 'approve', identifier, '--rate-limit', '1000000/1s', '--yes');
    const mail = readdirSync(mails).find((file) => file.endsWith(`-approval-${identifier}.eml`)) ?? '';
    const [secret = ''] = /plk_\w{8}_\w{38}/.exec(readFileSync(join(mails, mail), 'utf8')) ?? [];
    return secret;
  });
  const token = profilectl('tokens', 'add', 'bench', '--right', 'profiles');
  return { binary, mails, variables, secrets, token, start: () => startServer(bench, binary, variables) };
}

/** The file of generated profiles, made if it does not exist. */
function linesFile({ folder, profiles }: Bench): string {
  const file = join(folder, 'profiles.jsonl');
  if (!existsSync(file)) {
    writeFileSync(file, Array.from({ length: profiles }, (_, at) => `${lineOf(at + 1)}\n`).join(''));
  }
  return file;
}

async function startServer(bench: Bench, binary: string, variables: Record<string, string>): Promise<Target> {
  const log = join(bench.folder, `server-${Bun.randomUUIDv7()}.log`);
  const child = spawn(bench, [binary, 'serve'], CORE.server, { variables: { ...variables, PORT: '0' }, output: log });
  const stop = async () => {
    child.kill('SIGTERM');
    await child.exited;
    rmSync(log, { force: true });
  };
  const deadline = performance.now() + TIME_LIMIT_MS;
  for (;;) {
    const printed = existsSync(log) ? readFileSync(log, 'utf8') : '';
    const port = /Listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(printed)?.[1];
    if (port !== undefined) return { port: Number(port), pid: child.pid, stop };
    if (child.exitCode !== null || performance.now() > deadline) {
      throw new Error(`the server does not listen: ${printed.slice(-500)}`);
    }
    await Bun.sleep(2);
  }
}
