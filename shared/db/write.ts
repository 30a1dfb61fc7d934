import { type Clock, systemClock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { type Db, isInTransaction, type Sqlite, type Tx, withBusyTimeout } from './connect.ts';
import { guardDatabase } from './faults.ts';

/**
 * Runs a function in one immediate transaction and returns its result. The write lock is taken before the first read,
 * so data that the function reads can't be outdated when it writes. Inside a transaction it is a savepoint of it. Throws
 * `busy` and `refused` for SQLite's errors, and the function's own errors; nothing is written then.
 */
export function write<T>(db: Db, act: (tx: Tx) => T): T {
  return guardDatabase(db.$client.filename, () =>
    db.$client
      .transaction(() => {
        if (!isInTransaction(db)) throw new Error('the transaction has not begun');
        const result = act(db);
        if (result instanceof Promise)
          throw new Error('a transaction may not wait: it would commit at the first await');
        return result;
      })
      .immediate(),
  );
}

/**
 * Like {@link write}, for a function that lets others run while it has the lock. Until it ends, nothing else may use the
 * connection. Inside a transaction it is a part of it.
 */
export async function writeInTurns<T>(db: Db, act: (tx: Tx) => Promise<T>): Promise<T> {
  if (isInTransaction(db)) return act(db);
  const { $client: sqlite } = db;
  try {
    sqlite.run('BEGIN IMMEDIATE');
    const result = await act(db as Tx);
    sqlite.run('COMMIT');
    return result;
  } catch (error) {
    if (sqlite.inTransaction) sqlite.run('ROLLBACK');
    return guardDatabase(sqlite.filename, () => {
      throw error;
    });
  }
}

/**
 * Like {@link write}, but a power cut may undo it: the commit does not wait for the disk. For what strangers can cause,
 * such as tickets, and for times of last use.
 */
export function writeLoosely<T>(db: Db, act: (tx: Tx) => T): T {
  const { $client: sqlite } = db;
  if (sqlite.inTransaction) return write(db, act);
  const { synchronous } = sqlite.query('PRAGMA synchronous').get() as { synchronous: number };
  // 1 is NORMAL. Tests switch it off, and that stays.
  sqlite.run(`PRAGMA synchronous = ${Math.min(synchronous, 1)}`);
  try {
    return write(db, act);
  } finally {
    sqlite.run(`PRAGMA synchronous = ${synchronous}`);
  }
}

/**
 * Like {@link write}, for a function that compares or stores the time. It receives the time at which the lock was
 * acquired, in milliseconds since 1970: a key may expire while a command waits for the lock.
 */
export function writeNow<T>(
  { db, clock }: { db: Db; clock: Pick<Clock, 'nowMs'> },
  act: (tx: Tx, nowMs: number) => T,
): T {
  return write(db, (tx) => act(tx, clock.nowMs()));
}

/** How long a request of the server waits for all the locks that it needs, and the pause between two tries. */
const WAIT_MS = 2_000;
const PAUSE_MS = 20;

/** The deadline for a request that begins now to wait for locks: 2 seconds ahead, by the system's monotonic clock. */
export function lockDeadline(): number {
  return systemClock.monotonicMs() + WAIT_MS;
}

/**
 * Runs a function in one immediate transaction for the server: while another process holds the lock, BEGIN IMMEDIATE alone is
 * tried again, after pauses in which other requests are answered. The function runs once at most, and what it does with
 * {@link write} is a part of this transaction. Throws `busy` at `untilMs`, and what the function throws; nothing is written then.
 */
export async function whenFree<T>(sqlite: Sqlite, act: () => T, untilMs = lockDeadline()): Promise<T> {
  while (!beginNow(sqlite, systemClock.monotonicMs() >= untilMs)) await Bun.sleep(PAUSE_MS);
  return guardDatabase(sqlite.filename, () => {
    try {
      const result = act();
      if (result instanceof Promise) throw new Error('a transaction may not wait');
      sqlite.run('COMMIT');
      return result;
    } catch (error) {
      if (sqlite.inTransaction) sqlite.run('ROLLBACK');
      throw error;
    }
  });
}

/** Begins a transaction without waiting. Returns false if another process holds the lock, or throws `busy` if it `isLast`. */
function beginNow(sqlite: Sqlite, isLast: boolean): boolean {
  try {
    guardDatabase(sqlite.filename, () => withBusyTimeout(sqlite, 0, () => sqlite.run('BEGIN IMMEDIATE')));
    return true;
  } catch (error) {
    if (isLast || !(error instanceof AppError) || error.code !== 'busy') throw error;
    return false;
  }
}

/**
 * Runs a function that begins its own transaction once no other process holds the lock, and again if another process was faster:
 * it may do nothing before that which must not be repeated. Throws `busy` at `untilMs`, and what the function throws.
 */
export async function whenUnlocked<T>(sqlite: Sqlite, act: () => T | Promise<T>, untilMs = lockDeadline()): Promise<T> {
  for (;;) {
    await whenFree(sqlite, () => {}, untilMs);
    try {
      return await act();
    } catch (error) {
      const isBusy = error instanceof AppError && error.code === 'busy';
      if (!isBusy || systemClock.monotonicMs() >= untilMs) throw error;
    }
  }
}
