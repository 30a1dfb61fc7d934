import { desc, eq, inArray } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import type { KeyState } from '../db/key-columns.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { profiles } from '../db/schema/profiles.ts';

/** The parts of a key by which people recognise it. */
export type KeyName = { identifier: string; state: KeyState; profile: string | null; name: string };

const MAX_NAMES = 200;

/** The latest 200 keys in these states, or in any if none is given. Uses the stored state, which may miss a recent expiry. */
export function keyNames(db: Db, states: readonly KeyState[]): KeyName[] {
  return db
    .select({ identifier: apiKeys.identifier, state: apiKeys.state, profile: profiles.username, name: apiKeys.name })
    .from(apiKeys)
    .leftJoin(profiles, eq(profiles.id, apiKeys.profileId))
    .where(states.length === 0 ? undefined : inArray(apiKeys.state, [...states]))
    .orderBy(desc(apiKeys.requestedAt))
    .limit(MAX_NAMES)
    .all();
}
