import type { Sqlite } from './connect.ts';

/**
 * Runs a function with a different busy timeout: how long the connection waits for other connections' locks (0: not at
 * all). The previous timeout is restored afterwards.
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
