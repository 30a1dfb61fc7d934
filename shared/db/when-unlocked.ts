import { systemClock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { type Sqlite, withBusyTimeout } from './connect.ts';
import { databaseFault } from './faults.ts';
import { lockDeadline } from './write.ts';

/** The interval between two checks. */
const CHECK_MS = 10;

/** The next check of each connection, shared by everybody waiting for its lock. */
const nextChecks = new WeakMap<Sqlite, Promise<boolean>>();

/**
 * Resolves once no other connection holds the write lock of a file, without blocking this thread. A write right
 * afterwards gets the lock with its own BEGIN IMMEDIATE; the transaction here only tests the lock and never contains an
 * operation, which must run once. Throws `busy` at `untilMs`, one {@link lockDeadline} for all waits of a request.
 */
export async function whenUnlocked(sqlite: Sqlite, untilMs = lockDeadline()): Promise<void> {
  if (isUnlocked(sqlite)) return;
  while (systemClock.monotonicMs() < untilMs) {
    if (await nextCheck(sqlite)) return;
  }
  throw new AppError('busy');
}

/** Runs a function, and if that throws `busy`, once more when no other connection holds the write lock. */
export async function onceUnlocked(sqlite: Sqlite, act: () => void): Promise<void> {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'busy') throw error;
  }
  await whenUnlocked(sqlite);
  act();
}

function nextCheck(sqlite: Sqlite): Promise<boolean> {
  let check = nextChecks.get(sqlite);
  if (check === undefined) {
    check = Bun.sleep(CHECK_MS).then(() => {
      nextChecks.delete(sqlite);
      return isUnlocked(sqlite);
    });
    nextChecks.set(sqlite, check);
  }
  return check;
}

/** Whether no other connection holds the lock. The write that follows reports any other error. */
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
