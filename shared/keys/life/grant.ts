import { eq } from 'drizzle-orm';
import { isoTime } from '../../clock.ts';
import type { Tx } from '../../db/connect.ts';
import type { Permission } from '../../db/key-columns.ts';
import type { KeyChanges } from '../../db/schema/events.ts';
import { apiKeys } from '../../db/schema/keys.ts';
import type { Act } from '../../events.ts';
import { areSameLimits } from '../../limits/limits.ts';
import type { RateLimit } from '../../limits/rate-limit.ts';
import { type ApiKey, addKeyEvent } from '../record.ts';

/** A new grant in its stored form. Absent fields stay as they are. */
export type NewGrant = { permissions?: Permission[]; rateLimits?: RateLimit[]; expiresAt?: number | null };

type Changed = { changes: KeyChanges; event: number };

/**
 * Stores a new grant, with an event that has the old and new values; `successor` is the key whose approval caused it. Returns
 * the differences and the id of the event; null, without writing, if nothing differs.
 */
export function setGrant(tx: Tx, key: ApiKey, grant: NewGrant, act: Act, successor?: string): Changed | null {
  const changes = changesOf(key, grant);
  if (Object.keys(changes).length === 0) return null;
  tx.update(apiKeys).set(grant).where(eq(apiKeys.identifier, key.identifier)).run();
  const detail = { changes, ...(successor !== undefined && { successor }) };
  const event = addKeyEvent(tx, key, act, 'changed', detail);
  return { changes, event };
}

function changesOf(key: ApiKey, { permissions, rateLimits, expiresAt }: NewGrant): KeyChanges {
  const [had, hadLimits] = [key.permissions ?? [], key.rateLimits ?? []];
  const changes: KeyChanges = {};
  if (permissions && permissions.join() !== had.join()) changes.permissions = { from: had, to: permissions };
  if (rateLimits && !areSameLimits(rateLimits, hadLimits)) changes.rateLimits = { from: hadLimits, to: rateLimits };
  if (expiresAt !== undefined && expiresAt !== key.expiresAt) {
    changes.expiresAt = { from: timeOrNull(key.expiresAt), to: timeOrNull(expiresAt) };
  }
  return changes;
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
