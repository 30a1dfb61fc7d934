import { systemClock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { withBusyTimeout } from './busy-timeout.ts';
import type { Sqlite } from './connect.ts';
import { databaseFault } from './faults.ts';

/** How long {@link whenUnlocked} waits at most, and how often it looks, in milliseconds. */
const WAIT_MS = 2_000;
const LOOK_MS = 10;

/** The next look at each connection, which all that wait for its lock share. */
const looks = new WeakMap<Sqlite, Promise<boolean>>();

/**
 * Resolves once no other connection holds the write lock of a file, without holding up this thread. What writes then and at
 * once gets the lock by its own BEGIN IMMEDIATE; a transaction is begun here only to see whether that works, and never an
 * operation, which is done once. Throws `busy` after 2 seconds.
 */
export async function whenUnlocked(sqlite: Sqlite): Promise<void> {
  if (isUnlocked(sqlite)) return;
  for (const startedAtMs = systemClock.monotonicMs(); systemClock.monotonicMs() - startedAtMs < WAIT_MS; ) {
    if (await nextLook(sqlite)) return;
  }
  throw new AppError('busy');
}

/** Does something at once, and once more where that throws `busy`, when no other connection holds the write lock. */
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

/** Whether nobody else holds the lock. Any other fault is left to what writes, which says what is wrong. */
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
