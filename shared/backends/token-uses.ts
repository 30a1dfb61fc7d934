import { eq } from 'drizzle-orm';
import type { Clock } from '../clock.ts';
import { tokenUses } from '../sessions-file/schema.ts';
import { readSessions, type SessionsFile, writeSessions } from '../sessions-file/sessions-file.ts';

// When backends' tokens were last used, by their identifiers. This is in the sessions file, so that recording a use
// does not wait for the lock of the main database.

/** A use is written only if the stored one is older than this. */
const USE_STEP_MS = 60_000;

/** When each token was last used, in milliseconds since 1970. Throws `refused` if the file can't be read. */
export function readUses(sessions: SessionsFile): Map<string, number> {
  const rows = readSessions(sessions, (db) => db.select().from(tokenUses).all());
  return new Map(rows.map(({ identifier, usedAt }) => [identifier, usedAt]));
}

/**
 * Records the use of a token after the response, at most once a minute. Throws `refused` if the file can't be written.
 */
export function noteTokenUse(sessions: SessionsFile, clock: Pick<Clock, 'nowMs'>, identifier: string): void {
  const known = readSessions(sessions, (db) =>
    db.select().from(tokenUses).where(eq(tokenUses.identifier, identifier)).get(),
  );
  if (known !== undefined && Math.abs(clock.nowMs() - known.usedAt) < USE_STEP_MS) return;
  writeSessions(sessions, (db) => {
    const usedAt = clock.nowMs();
    db.insert(tokenUses)
      .values({ identifier, usedAt })
      .onConflictDoUpdate({ target: tokenUses.identifier, set: { usedAt } })
      .run();
  });
}
