import { existsSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import type { Opened, Sqlite } from '../db/connect.ts';
import { type Binding, isStillBound } from './binding.ts';
import { dropOldChallenges } from './challenges.ts';
import { dropOldCliCodes } from './cli-codes.ts';
import { dropOldCodes } from './code-rows.ts';
import { endOpenedBy } from './end-all.ts';
import { dropOldEnrolments } from './enrolments.ts';
import { dropOldHandOvers } from './hand-over.ts';
import { dropOldBrowsers } from './known-browsers.ts';
import { dropOldCounts } from './mail-limits.ts';
import { dropOldPersonTokens } from './person-tokens.ts';
import { isPlatformToken } from './platform-token-row.ts';
import { dropOldSessions } from './sessions.ts';
import {
  closeSessionsFile,
  emptyLog,
  openSessionsFile,
  readSessions,
  type SessionsFile,
  sessionsPath,
  writeSessions,
} from './sessions-file.ts';
import { dropOldUses } from './sign-in-challenges.ts';
import { dropUsesOfRemoved } from './token-uses.ts';

/** The tables whose rows belong to an owner. */
const OWNED = ['sessions', 'person_tokens', 'cli_codes', 'known_browsers', 'hand_overs', 'untold_sign_ins'] as const;

/** The functions that delete outdated rows, each from one table; nothing while the clock is not settled. */
const DROPS = [
  dropOldCodes,
  dropOldCounts,
  dropOldBrowsers,
  dropOldSessions,
  dropOldPersonTokens,
  dropOldCliCodes,
  dropOldChallenges,
  dropOldUses,
  dropOldEnrolments,
  dropOldHandOvers,
] as const;

/**
 * Deletes from the sessions file, its write-ahead log included, what is of no use any more: codes, counts, known browsers,
 * challenges and enrolments whose time is over, sessions and people's tokens that ended more than 30 days ago, and
 * everything of profiles that were erased or have another address and of platforms' tokens that were removed; what such a
 * token opened is marked as ended. What depends on the time is done only while the clock is settled. Throws `busy`, and
 * `refused` where the file can't be written.
 */
export function sweepSessions(db: Opened, clock: Clock, sessions: SessionsFile): void {
  writeSessions(sessions, (sqlite) => {
    const settledMs = clock.settledMs();
    for (const drop of DROPS) drop(sqlite, settledMs);
    for (const table of OWNED) dropUnbound(db, sqlite, table);
    dropUsesOfRemoved(db, sqlite);
  });
  for (const identifier of removedOpeners(db, sessions)) endOpenedBy({ sessions, clock }, identifier);
  emptyLog(sessions);
}

/**
 * Sweeps the sessions file of a database that may have none, for commands: after an erasure nothing of the profile is left
 * in it. Throws what {@link sweepSessions} and opening the file throw.
 */
export function sweepBeside(db: Opened, clock: Clock): void {
  const databasePath = db.$client.filename;
  if (!existsSync(sessionsPath(databasePath))) return;
  const sessions = openSessionsFile(databasePath);
  try {
    sweepSessions(db, clock, sessions);
  } finally {
    closeSessionsFile(sessions);
  }
}

/** The platforms' tokens that were removed, as far as sessions or logins that they opened are not marked as ended. */
function removedOpeners(db: Opened, sessions: SessionsFile): string[] {
  const openers = readSessions(sessions, (sqlite) =>
    sqlite
      .query<{ identifier: string }, []>(
        `SELECT opened_by AS identifier FROM sessions WHERE opened_by IS NOT NULL AND ended_at IS NULL
           UNION SELECT opened_by FROM person_tokens WHERE opened_by IS NOT NULL AND ended_at IS NULL`,
      )
      .all(),
  );
  return openers.map(({ identifier }) => identifier).filter((identifier) => !isPlatformToken(db, identifier));
}

function dropUnbound(db: Opened, sqlite: Sqlite, table: (typeof OWNED)[number]): void {
  const owners = sqlite
    .query<Binding, []>(
      `SELECT DISTINCT profile_id AS profileId, generation, address_hash AS addressHash FROM ${table}
         WHERE profile_id IS NOT NULL`,
    )
    .all();
  const drop = sqlite.query(`DELETE FROM ${table} WHERE profile_id = ? AND generation = ? AND address_hash = ?`);
  for (const owner of owners) {
    if (!isStillBound(db, owner)) drop.run(owner.profileId, owner.generation, owner.addressHash);
  }
}
