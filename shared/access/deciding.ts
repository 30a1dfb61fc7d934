import type { Access } from './access.ts';
import { LIVES_FOR_MS } from './challenges.ts';
import type { Decision } from './decision.ts';
import { readSessions } from './sessions-file.ts';

/** Somebody who is about to decide on a key, since when (milliseconds since 1970), and what. */
export type Deciding = { name: string; operation: Decision['operation']; sinceMs: number };

/**
 * The other admins who are about to decide on a key: each was asked to confirm a decision with a passkey within the last
 * five minutes, and has not done it yet. Throws `busy`.
 */
export function othersDeciding(access: Access, identifier: string, admin: string): Deciding[] {
  const nowMs = access.clock.nowMs();
  return readSessions(access.sessions, (sqlite) =>
    sqlite
      .query<Deciding, [number, number, string, string]>(
        `SELECT admin AS name, json_extract(about, '$.operation') AS operation, max(made_at) AS sinceMs FROM challenges
           WHERE purpose = 'decision' AND is_used = 0 AND made_at > ? AND made_at <= ? AND admin <> ?
             AND json_extract(about, '$.identifier') = ? AND json_extract(about, '$.operation') <> 'remove passkey'
           GROUP BY admin ORDER BY sinceMs`,
      )
      .all(nowMs - LIVES_FOR_MS, nowMs, admin, identifier),
  );
}
