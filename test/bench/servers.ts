import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { profilectlWords } from '../support/cli.ts';
import { type Bench, CORE, type Core, Skipped, spawn } from './bench.ts';

/** A running server. */
export type Target = { port: number; pid: number; log: string; stop: () => Promise<void> };

/** The bare server's only response: one of ours of typical size. */
export type TypicalAnswer = { status: number; headers: Record<string, string>; body: string };

const BARE = join(import.meta.dir, 'bare/bare.ts');
const TIME_LIMIT_MS = 30_000;

/** Starts `profilectl serve` with its log in a file. Throws {@link Skipped} if it refuses `WORKERS`. */
export function startOurs(
  bench: Bench,
  databasePath: string,
  variables: Record<string, string> = {},
  core: Core = CORE.server,
): Promise<Target> {
  const environment = { DATABASE_PATH: databasePath, PORT: '0', ...variables };
  return startServe(bench, profilectlWords(['serve']), environment, core);
}

/** Starts a server that sends one constant response. */
export function startBare(bench: Bench, answer: TypicalAnswer): Promise<Target> {
  const variables = { ANSWER: JSON.stringify(answer) };
  return startServe(bench, [process.execPath, BARE], variables, CORE.server);
}

/** Starts a server with any command that prints where it listens as ours does. Throws if it does not in time. */
export async function startServe(
  bench: Bench,
  words: readonly string[],
  variables: Record<string, string>,
  core: Core = CORE.server,
): Promise<Target> {
  const log = join(bench.folder, `server-${Bun.randomUUIDv7()}.log`);
  const child = spawn(bench, words, { core, variables, output: log });
  const deadline = performance.now() + TIME_LIMIT_MS;
  for (;;) {
    const printed = readFileSync(log, 'utf8');
    const port = /Listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(printed)?.[1];
    if (port !== undefined) return { port: Number(port), pid: child.pid, log, stop: () => stop(child, log) };
    if (child.exitCode !== null && /WORKERS must be 1/.test(printed)) {
      throw new Skipped('the server serves with one process only');
    }
    if (child.exitCode !== null || performance.now() > deadline) {
      throw new Error(`${words.at(-1)} does not listen: ${printed.slice(-500)}`);
    }
    await Bun.sleep(5);
  }
}

async function stop(child: Bun.Subprocess, log: string): Promise<void> {
  child.kill('SIGTERM');
  await child.exited;
  rmSync(log, { force: true });
}
