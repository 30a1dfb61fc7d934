import type { Clock } from '../clock.ts';
import type { Opened, Sqlite } from '../db/connect.ts';
import { isPlatformToken } from './platform-token-row.ts';
import { readSessions, type SessionsFile, writeSessions } from './sessions-file.ts';

// When tokens of platforms were last used, by their identifiers. It stands in the sessions file, so that a request never waits
// for the lock of the main database only to note that it was there.

/** The last use is written when the one that is stored is so old, in milliseconds. */
const USE_STEP_MS = 60_000;

/** When each token was last used, in milliseconds since 1970. Throws `busy`, and `refused` where the file can't be read. */
export function readUses(sessions: SessionsFile): Map<string, number> {
  const rows = readSessions(sessions, (sqlite) =>
    sqlite.query<{ identifier: string; at: number }, []>('SELECT identifier, used_at AS at FROM token_uses').all(),
  );
  return new Map(rows.map(({ identifier, at }) => [identifier, at]));
}

/** Notes that a token was used now; called after the answer. Writes at most once a minute. Throws as {@link readUses}. */
export function noteTokenUse(sessions: SessionsFile, clock: Pick<Clock, 'nowMs'>, identifier: string): void {
  const usedAt = readSessions(sessions, (sqlite) =>
    sqlite.query<{ at: number }, [string]>('SELECT used_at AS at FROM token_uses WHERE identifier = ?').get(identifier),
  );
  if (usedAt !== null && Math.abs(clock.nowMs() - usedAt.at) < USE_STEP_MS) return;
  writeSessions(sessions, (sqlite) =>
    sqlite
      .query('INSERT INTO token_uses VALUES (?, ?) ON CONFLICT (identifier) DO UPDATE SET used_at = excluded.used_at')
      .run(identifier, clock.nowMs()),
  );
}

/** Deletes the times of tokens that were removed, inside a transaction of the caller. */
export function dropUsesOfRemoved(db: Opened, sqlite: Sqlite): void {
  const known = sqlite.query<{ identifier: string }, []>('SELECT identifier FROM token_uses').all();
  const drop = sqlite.query('DELETE FROM token_uses WHERE identifier = ?');
  for (const { identifier } of known) if (!isPlatformToken(db, identifier)) drop.run(identifier);
}
