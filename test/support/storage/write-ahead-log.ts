import { expect } from 'bun:test';
import type { Sqlite } from '../../../shared/db/connect.ts';

/** Waits until no reader uses the write-ahead log, and empties it. Fails after 5 seconds. */
export async function emptyLogSoon(sqlite: Sqlite): Promise<void> {
  for (let turn = 0; sqlite.query('PRAGMA wal_checkpoint(TRUNCATE)').values()[0]?.[0] !== 0; turn++) {
    expect(turn).toBeLessThan(500);
    await Bun.sleep(10);
  }
}
