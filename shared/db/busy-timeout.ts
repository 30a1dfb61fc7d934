import type { Sqlite } from './connect.ts';

/** Runs a function while a connection waits so long, milliseconds, for the locks of others; 0 is not at all. */
export function withBusyTimeout<T>(sqlite: Sqlite, timeoutMs: number, act: () => T): T {
  const { timeout } = sqlite.query('PRAGMA busy_timeout').get() as { timeout: number };
  sqlite.run(`PRAGMA busy_timeout = ${timeoutMs}`);
  try {
    return act();
  } finally {
    sqlite.run(`PRAGMA busy_timeout = ${timeout}`);
  }
}
