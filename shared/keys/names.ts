import { desc, eq, inArray } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import type { KeyState } from '../db/key-columns.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { profiles } from '../db/schema/profiles.ts';

/** What identifies a key to people. */
export type KeyName = { identifier: string; state: KeyState; profile: string | null; name: string };

const MOST = 200;

/** The latest keys in these states (all if none is given), at most 200. Goes by the stored state, so an expiry may be missed. */
export function keyNames(db: Db, states: readonly KeyState[]): KeyName[] {
  return db
    .select({ identifier: apiKeys.identifier, state: apiKeys.state, profile: profiles.username, name: apiKeys.name })
    .from(apiKeys)
    .leftJoin(profiles, eq(profiles.id, apiKeys.profileId))
    .where(states.length === 0 ? undefined : inArray(apiKeys.state, [...states]))
    .orderBy(desc(apiKeys.requestedAt))
    .limit(MOST)
    .all();
}
