import { existsSync } from 'node:fs';
import { and, eq, gt, isNotNull, isNull, lte } from 'drizzle-orm';
import type { Clock } from '../clock.ts';
import type { Db, Opened } from '../db/connect.ts';
import { knownBrowsers, pendingSignInNotices, signIns, tickets, tokenUses } from '../sessions-file/schema.ts';
import {
  closeSessionsFile,
  emptyLog,
  openSessionsFile,
  readSessions,
  type SessionsFile,
  writeSessions,
} from '../sessions-file/sessions-file.ts';
import { sessionsPath } from '../sessions-file/sessions-path.ts';
import { isPlatformToken } from '../sign-ins/backend-token-row.ts';
import { isStillBound } from '../sign-ins/binding.ts';
import { SHOWN_AFTER_END_MS } from '../sign-ins/periods.ts';
import { hasEndedAt } from '../sign-ins/row.ts';
import { endOpenedBy } from './end-all.ts';
import { KNOWN_FOR_MS } from './known-browsers.ts';
import { dropOldCounts } from './mail-limits.ts';

const OWNED = [signIns, tickets, knownBrowsers, pendingSignInNotices] as const;

/**
 * Deletes rows that are no longer needed from the sessions file and its write-ahead log: expired tickets, counts and
 * known browsers, sign-ins that ended more than 30 days ago, and everything of profiles that were erased or have
 * another e-mail address and of removed tokens of backends. Marks sign-ins opened by such a token as ended. A command
 * keeps what has expired, because only a server that has run for a while trusts the clock. Throws `refused` if the file
 * can't be written.
 */
export function sweepSessions(db: Opened, clock: Clock, sessions: SessionsFile, keepsExpired = false): void {
  writeSessions(sessions, (sessionsDb) => {
    if (!keepsExpired) dropExpired(sessionsDb, clock.nowMs());
    for (const table of OWNED) dropUnbound(db, sessionsDb, table);
    dropUsesOfRemoved(db, sessionsDb);
  });
  for (const identifier of removedOpeners(db, sessions)) endOpenedBy({ sessions, clock }, identifier);
  emptyLog(sessions);
}

/**
 * Sweeps the sessions file of a database, if any, for commands: after an erasure the file contains nothing of the
 * profile. Throws the errors of {@link sweepSessions} and of opening the file.
 */
export function sweepBeside(db: Opened, clock: Clock): void {
  const databasePath = db.$client.filename;
  if (!existsSync(sessionsPath(databasePath))) return;
  const sessions = openSessionsFile(databasePath);
  try {
    sweepSessions(db, clock, sessions, true);
  } finally {
    closeSessionsFile(sessions);
  }
}

/** Code that counts or uses such rows compares their times itself, since they are deleted only now and then. */
function dropExpired(sessionsDb: Db, nowMs: number): void {
  sessionsDb.delete(tickets).where(lte(tickets.keptUntil, nowMs)).run();
  sessionsDb
    .delete(signIns)
    .where(hasEndedAt(nowMs - SHOWN_AFTER_END_MS))
    .run();
  sessionsDb
    .delete(knownBrowsers)
    .where(lte(knownBrowsers.signedInAt, nowMs - KNOWN_FOR_MS))
    .run();
  dropOldCounts(sessionsDb, nowMs);
}

/** The removed tokens of backends whose sign-ins are not yet marked as ended. */
function removedOpeners(db: Opened, sessions: SessionsFile): string[] {
  const rows = readSessions(sessions, (sessionsDb) =>
    sessionsDb
      .selectDistinct({ identifier: signIns.openedBy })
      .from(signIns)
      .where(and(isNotNull(signIns.openedBy), isNull(signIns.endedAt)))
      .all(),
  );
  return rows.flatMap(({ identifier }) => (identifier === null || isPlatformToken(db, identifier) ? [] : [identifier]));
}

function dropUnbound(db: Opened, sessionsDb: Db, table: (typeof OWNED)[number]): void {
  const { profileId, generation, addressHash } = table;
  const owners = sessionsDb
    .selectDistinct({ profileId, generation, addressHash })
    .from(table)
    .where(gt(profileId, 0))
    .all();
  for (const owner of owners) {
    const { profileId: id, addressHash: hash } = owner;
    if (id === null || hash === null || isStillBound(db, { ...owner, profileId: id, addressHash: hash })) continue;
    sessionsDb
      .delete(table)
      .where(and(eq(profileId, id), eq(generation, owner.generation), eq(addressHash, hash)))
      .run();
  }
}

function dropUsesOfRemoved(db: Opened, sessionsDb: Db): void {
  for (const { identifier } of sessionsDb.select().from(tokenUses).all()) {
    if (!isPlatformToken(db, identifier))
      sessionsDb.delete(tokenUses).where(eq(tokenUses.identifier, identifier)).run();
  }
}
