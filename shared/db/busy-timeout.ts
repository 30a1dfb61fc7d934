import type { Sqlite } from './connect.ts';

/**
 * Runs a function with another busy timeout on a connection: how many milliseconds it waits for locks of other
 * connections, 0 for not at all. The former timeout is restored afterwards.
 */
export function withBusyTimeout<T>(sqlite: Sqlite, timeoutMs: number, act: () => T): T {
  const { timeout } = sqlite.query('PRAGMA busy_timeout').get() as { timeout: number };
  sqlite.run(`PRAGMA busy_timeout = ${timeoutMs}`);
  try {
    return act();
  } finally {
    sqlite.run(`PRAGMA busy_timeout = ${timeout}`);
  }
}
