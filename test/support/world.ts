import { afterAll } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Actor, Person } from '../../shared/actor.ts';
import type { Clock } from '../../shared/clock.ts';
import { readConfig } from '../../shared/config/config.ts';
import { createDeps, type Deps } from '../../shared/deps.ts';
import type { AppError } from '../../shared/errors.ts';
import { openDatabase } from '../../shared/files/open.ts';
import { KEEP_FOLDER, notedRandom } from './secret-search.ts';

/** Makes a temporary folder, mode 0700, removed after the test file, or at the end of run.ts. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-test-'));
  if (KEEP_FOLDER === undefined) afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A clock for tests: `advance` lets time pass, and `jump` changes only the wall clock. */
export type TestClock = Clock & { advance: (ms: number) => void; jump: (ms: number) => void };

/** A clock that stands still until it is moved. */
export function testClock(startMs = Date.parse('2026-01-01T00:00:00Z')): TestClock {
  let monotonic = 0;
  let ahead = 0;
  return {
    nowMs: () => Math.floor(startMs + monotonic + ahead),
    monotonicMs: () => monotonic,
    advance: (ms) => {
      monotonic += ms;
    },
    jump: (ms) => {
      ahead += ms;
    },
  };
}

let empty: Buffer | undefined;

/** Creates an empty database with the current schema unless it exists. Migrating a new file would take ten times as long. */
function createDatabase(path: string): void {
  if (existsSync(path) || !existsSync(dirname(path))) return;
  if (empty === undefined) {
    const first = join(tempFolder(), 'empty.db');
    openDatabase(first, 'serve').$client.close();
    empty = readFileSync(first);
  }
  writeFileSync(path, empty, { mode: 0o600 });
}

/**
 * Real dependencies, on a new database in its own folder or at the DATABASE_PATH of `variables`; mail is written to
 * `<folder>/mail`. `changes` override some of them. Commits do not wait for the disk, which only a power cut would show.
 */
export function testDeps(changes: Partial<Deps> & { variables?: Record<string, string> } = {}) {
  const folder = tempFolder();
  const { variables, ...replaced } = changes;
  const databasePath = variables?.DATABASE_PATH ?? join(folder, 'profiles.db');
  const config = readConfig({ DATABASE_PATH: databasePath, MAIL_URL: `file:${join(folder, 'mail')}`, ...variables });
  createDatabase(databasePath);
  const db = openDatabase(databasePath, 'serve');
  db.$client.run('PRAGMA synchronous = OFF');
  afterAll(() => db.$client.close());
  return { ...createDeps(db, config), random: notedRandom, ...replaced, folder };
}

/** An actor with this name on the machine with the database. */
export function onBox(name: string): Actor & Person {
  return { kind: 'operator', name };
}

/** Returns the error of a refused act; throws if it is not refused. */
export async function refusal(act: Promise<unknown> | (() => unknown)): Promise<AppError> {
  try {
    await (typeof act === 'function' ? act() : act);
  } catch (error) {
    return error as AppError;
  }
  throw new Error('It was not refused.');
}

/** Polls until there is a result that is neither empty nor false, for at most 20 seconds, and returns it. `soFar` is for the error. */
export async function eventually<T>(read: () => T | Promise<T>, soFar = () => ''): Promise<NonNullable<T>> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const found = await read();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`This did not happen within 20 seconds. ${soFar()}`);
    await Bun.sleep(10);
  }
}
