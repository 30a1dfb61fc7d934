import { and, asc, eq, gt, lte, sql } from 'drizzle-orm';
import { type Clock, DAY_MS } from '../clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { notices } from '../db/schema/notices.ts';
import { profiles } from '../db/schema/profiles.ts';
import { write } from '../db/write.ts';
import { isMailAddress } from '../mail/address.ts';
import { EXPIRY_SET_AT } from './rows.ts';

// Owners are reminded 30 days, 7 days and 1 day before a key expires, once per step and expiry. After a change of the
// expiry all steps count again.

/** The steps, in days before the expiry. */
export const REMINDER_STEPS_DAYS = [30, 7, 1] as const;

/** A key's expiry, and when it was set by its approval or a later change; milliseconds since 1970. */
type Expiry = { expirySetAt: number | null; expiresAt: number };

/**
 * The step that is due, or null: the last one that has begun, unless the expiry was set after that, because the mail
 * about the new expiry is sufficient. Steps missed while the server was down are skipped.
 */
export function dueStep(key: Expiry, nowMs: number): number | null {
  const leftMs = key.expiresAt - nowMs;
  if (leftMs <= 0) return null;
  const step = REMINDER_STEPS_DAYS.findLast((days) => leftMs <= days * DAY_MS);
  return step !== undefined && isStepAhead(key, step) ? step : null;
}

/** Whether a step began, or will begin, after the key was given this expiry. */
export function isStepAhead({ expirySetAt, expiresAt }: Expiry, stepDays: number): boolean {
  return expiresAt - (expirySetAt ?? 0) > stepDays * DAY_MS;
}

/**
 * Adds a notice for each reminder that is due and not stored yet; none until the clock is settled (CONTRIBUTING.md).
 * Owners who are banned or have no e-mail address are skipped until that changes. Throws `refused` if the database
 * can't be written.
 */
export function storeReminders(db: Db, clock: Pick<Clock, 'settledMs'>): void {
  // First checked without the lock, because usually nothing is due.
  const missing = guardDatabase(db.$client.filename, () => missingReminders(db, clock.settledMs()));
  if (missing.length > 0) write(db, (tx) => storeMissing(tx, clock.settledMs()));
}

function storeMissing(tx: Tx, settledMs: number | null): void {
  if (settledMs === null) return;
  for (const { identifier, ...about } of missingReminders(tx, settledMs)) {
    const row = {
      identifier,
      kind: 'reminder',
      recipient: 'owner',
      about,
      at: settledMs,
      nextTryAt: settledMs,
    } as const;
    tx.insert(notices).values(row).run();
  }
}

/** The keys of owners who are not banned that expire within the longest step. */
function readExpiring(db: Db | Tx, nowMs: number) {
  const { identifier, expiresAt, state, profileId } = apiKeys;
  const untilMs = nowMs + REMINDER_STEPS_DAYS[0] * DAY_MS;
  return db
    .select({ identifier, expirySetAt: EXPIRY_SET_AT, expiresAt, email: profiles.email })
    .from(apiKeys)
    .innerJoin(profiles, eq(profiles.id, profileId))
    .where(and(eq(state, 'Active'), gt(expiresAt, nowMs), lte(expiresAt, untilMs), eq(profiles.banned, false)))
    .orderBy(asc(expiresAt))
    .all();
}

const storedReminder = keepQuery((db) =>
  db
    .select({ id: notices.id })
    .from(notices)
    .where(
      and(
        eq(notices.identifier, sql.placeholder('identifier')),
        eq(notices.kind, 'reminder'),
        eq(sql`${notices.about} ->> 'stepDays'`, sql.placeholder('stepDays')),
        eq(sql`${notices.about} ->> 'expiresAt'`, sql.placeholder('expiresAt')),
      ),
    )
    .prepare(),
);

type Missing = { identifier: string; stepDays: number; expiresAt: number };

function missingReminders(db: Db | Tx, settledMs: number | null): Missing[] {
  if (settledMs === null) return [];
  return readExpiring(db, settledMs).flatMap(({ identifier, expirySetAt, expiresAt, email }) => {
    const stepDays = expiresAt === null ? null : dueStep({ expirySetAt, expiresAt }, settledMs);
    if (expiresAt === null || stepDays === null || email === null || !isMailAddress(email)) return [];
    const missing = { identifier, stepDays, expiresAt };
    return storedReminder(db).get(missing) === undefined ? [missing] : [];
  });
}
