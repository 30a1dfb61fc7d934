import { systemClock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { withBusyTimeout } from './busy-timeout.ts';
import type { Sqlite } from './connect.ts';
import { databaseFault } from './faults.ts';

/** How long a request waits for all the locks that it needs, and the interval between two checks, in milliseconds. */
const WAIT_MS = 2_000;
const LOOK_MS = 10;

/** The next check of each connection, shared by all that wait for its lock. */
const looks = new WeakMap<Sqlite, Promise<boolean>>();

/** Until when a request that begins now may wait for locks: 2 seconds from now, by the system's monotonic clock. */
export function lockDeadline(): number {
  return systemClock.monotonicMs() + WAIT_MS;
}

/**
 * Resolves once no other connection holds the write lock of a file, without blocking this thread. A write right
 * afterwards gets the lock by its own BEGIN IMMEDIATE; the transaction started here only tests the lock, and never
 * contains an operation, which must run once. Throws `busy` at `untilMs`, which is one {@link lockDeadline} for all
 * waits of a request.
 */
export async function whenUnlocked(sqlite: Sqlite, untilMs = lockDeadline()): Promise<void> {
  if (isUnlocked(sqlite)) return;
  while (systemClock.monotonicMs() < untilMs) {
    if (await nextLook(sqlite)) return;
  }
  throw new AppError('busy');
}

/** Runs a function at once, and if that throws `busy`, once more when no other connection holds the write lock. */
export async function onceUnlocked(sqlite: Sqlite, act: () => void): Promise<void> {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'busy') throw error;
  }
  await whenUnlocked(sqlite);
  act();
}

function nextLook(sqlite: Sqlite): Promise<boolean> {
  let look = looks.get(sqlite);
  if (look === undefined) {
    look = Bun.sleep(LOOK_MS).then(() => {
      looks.delete(sqlite);
      return isUnlocked(sqlite);
    });
    looks.set(sqlite, look);
  }
  return look;
}

/** Whether nobody else holds the lock. Any other fault is left to the write that follows, which reports it. */
function isUnlocked(sqlite: Sqlite): boolean {
  try {
    withBusyTimeout(sqlite, 0, () => {
      sqlite.run('BEGIN IMMEDIATE');
      sqlite.run('ROLLBACK');
    });
    return true;
  } catch (error) {
    return databaseFault(sqlite.filename, error)?.code !== 'busy';
  }
}
