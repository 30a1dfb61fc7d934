import { type Clock, DAY_MS } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { prepareWrite } from '../db/write.ts';
import { isMailAddress } from '../mail/address.ts';
import { EXPIRY_SET_AT } from './claim.ts';

// Owners are told 30 days, 7 days and 1 day before a key expires, each step once for one expiry. A key whose expiry was
// changed is reminded anew.

/** So many days before the end. */
export const REMINDER_STEPS_DAYS = [30, 7, 1] as const;

/** When a key's expiry was given to it, by its approval or by a later change, and the expiry; milliseconds since 1970. */
type Expiry = { expirySetAt: number | null; expiresAt: number };

type Expiring = Expiry & { identifier: string; email: string };

/**
 * The step that is due, if any: the last one that has begun, unless the key got this expiry after its beginning: the mail
 * about that has just said when it ends. Steps that were missed, while the server was down, are not made up for.
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
 * Stores a notice for each reminder that is due now and was not stored before; none while the clock is not settled. Owners who are banned or have no address
 * are left out until that changes. Throws `busy`, and `refused` where the database can't be written.
 */
export function storeReminders(sqlite: Sqlite, clock: Pick<Clock, 'settledMs'>): void {
  guardDatabase(sqlite.filename, () => {
    // Looked for without the lock first: most of the time there is nothing to store.
    if (missingReminders(sqlite, clock.settledMs()).length === 0) return;
    prepareWrite(sqlite, () => storeMissing(sqlite, clock.settledMs()))();
  });
}

function storeMissing(sqlite: Sqlite, settledMs: number | null): void {
  const insert = sqlite.query(
    `INSERT INTO notices (identifier, kind, recipient, about, at, next_try_at)
      VALUES ($identifier, 'reminder', 'owner', $about, $now, $now)`,
  );
  for (const { identifier, stepDays, expiresAt } of missingReminders(sqlite, settledMs)) {
    insert.run({ identifier, about: JSON.stringify({ stepDays, expiresAt }), now: settledMs });
  }
}

function missingReminders(
  sqlite: Sqlite,
  settledMs: number | null,
): { identifier: string; stepDays: number; expiresAt: number }[] {
  if (settledMs === null) return [];
  const expiring = sqlite
    .query(
      `SELECT key.identifier, ${EXPIRY_SET_AT} AS expirySetAt, expires_at AS expiresAt, email
        FROM api_keys AS key JOIN profiles AS profile ON profile.id = key.profile_id
        WHERE key.state = 'Active' AND expires_at > $now AND expires_at <= $until AND NOT banned AND email IS NOT NULL
        ORDER BY expires_at`,
    )
    .all({ now: settledMs, until: settledMs + REMINDER_STEPS_DAYS[0] * DAY_MS }) as Expiring[];
  const stored = sqlite.query(
    `SELECT 1 FROM notices WHERE identifier = ? AND kind = 'reminder'
      AND about ->> 'stepDays' = ? AND about ->> 'expiresAt' = ?`,
  );
  return expiring.flatMap((key) => {
    const { identifier, expiresAt } = key;
    const stepDays = dueStep(key, settledMs);
    const isMissing = stepDays !== null && isMailAddress(key.email) && !stored.get(identifier, stepDays, expiresAt);
    return isMissing ? { identifier, stepDays, expiresAt } : [];
  });
}
