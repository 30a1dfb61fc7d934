import { and, count, desc, inArray, isNotNull, isNull, min, sql } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import { isLive } from '../db/live.ts';
import { AppError } from '../errors.ts';
import { type Purpose, tickets } from '../sessions-file/schema.ts';
import { isTheirs, type Signed } from '../sessions-file/whose.ts';
import { type Cap, purposesWith, rulesOf } from './purposes.ts';

const COUNTED = { made: undefined, open: isNull(tickets.usedAt), spent: isNotNull(tickets.madeInto) };

/**
 * Makes room for another ticket of a person by removing their oldest open ones, if the number of these is limited.
 * Throws the refusal of a cap that is reached. Runs inside the caller's transaction, which must then be rolled back.
 */
export function makeRoom(db: Db, purpose: Purpose, signed: Signed, nowMs: number): void {
  const { caps = [], maxOpen } = rulesOf(purpose);
  const isCounted = inArray(tickets.purpose, sharing(purpose));
  if (maxOpen !== undefined) {
    const oldest = db
      .select({ id: tickets.id })
      .from(tickets)
      .where(and(isCounted, isNull(tickets.usedAt), isTheirs(tickets, signed)))
      .orderBy(desc(tickets.madeAt), desc(tickets.id))
      // SQLite requires a LIMIT for an OFFSET.
      .limit(Number.MAX_SAFE_INTEGER)
      .offset(maxOpen - 1);
    db.delete(tickets).where(inArray(tickets.id, oldest)).run();
  }
  for (const cap of caps) {
    const life = { begunAt: tickets.madeAt, until: sql`${tickets.madeAt} + ${cap.withinMs}` };
    const whose = cap.of === 'person' ? isTheirs(tickets, signed) : undefined;
    const [found] = db
      .select({ tickets: count(), firstMadeAt: min(tickets.madeAt) })
      .from(tickets)
      .where(and(isCounted, COUNTED[cap.counted], whose, isLive(life, nowMs)))
      .all();
    if (found !== undefined && found.tickets >= cap.max) throw refusalOf(cap, found.firstMadeAt ?? nowMs, nowMs);
  }
}

function sharing(purpose: Purpose): Purpose[] {
  const { together } = rulesOf(purpose);
  return together === undefined ? [purpose] : purposesWith((rules) => rules.together === together);
}

function refusalOf(cap: Cap, firstMadeAt: number, nowMs: number): AppError {
  const { withinMs, retryAfterSeconds } = cap;
  const seconds = retryAfterSeconds ?? Math.ceil((firstMadeAt + withinMs - nowMs) / 1000);
  const details = { retryAfterSeconds: seconds };
  return cap.sentence === null
    ? new AppError(cap.refusal, null, details)
    : new AppError(cap.refusal, cap.sentence, details);
}
