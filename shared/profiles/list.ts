import { and, asc, between, count, eq, gt, inArray, isNull, or, type SQL } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { profileNames, profiles } from '../db/schema/profiles.ts';
import type { Profile } from './fields.ts';
import { foldName, NAME_MAX_CODE_POINTS } from './name.ts';

/** The filter of a list. A profile has to meet all conditions. */
export type ProfileFilter = {
  /** The beginning of a username or an alias, compared in folded form. */
  nameBegins?: string | undefined;
  isBanned?: boolean | undefined;
  /** Without an e-mail address, so that keys can't be requested for it. */
  lacksEmail?: boolean | undefined;
  hasKeys?: boolean | undefined;
};

/** A profile in a list, without private fields. */
export type ListedProfile = {
  id: number;
  username: string;
  displayName: string;
  banned: boolean;
  viewsCount: number;
  /** ISO 8601 in UTC. */
  createdAt: string;
};

// Names have at most this many code points, so no name with the same beginning sorts after it.
const LAST_CHARACTERS = '\u{10FFFF}'.repeat(NAME_MAX_CODE_POINTS);

/** The first and the last possible folded name with this beginning. */
function firstNames(begins: string): [first: string, last: string] {
  const folded = foldName(begins);
  return [folded, folded + LAST_CHARACTERS];
}

/**
 * Returns one page: at most `limit` matching profiles with ids after `after`, ordered by id. `next` is the last id of
 * the page, null on the last page.
 */
export function listProfiles(
  db: Db,
  { filter, after, limit, nowMs }: { filter: ProfileFilter; after: number; limit: number; nowMs: number },
): { profiles: ListedProfile[]; next: number | null } {
  return guardDatabase(db.$client.filename, () => {
    const { id, profile } = profiles;
    // One more than `limit` shows whether there is another page.
    const rows = db
      .select({ id, profile })
      .from(profiles)
      .where(and(gt(id, after), matching(db, filter, nowMs)))
      .orderBy(asc(id))
      .limit(limit + 1)
      .all();
    const shown = rows.slice(0, limit).map((row): ListedProfile => {
      const { username, displayName, banned, viewsCount, createdAt } = JSON.parse(row.profile) as Profile;
      return { id: row.id, username, displayName, banned, viewsCount, createdAt };
    });
    return { profiles: shown, next: rows.length > limit ? (shown.at(-1)?.id ?? null) : null };
  });
}

/** Counts the matching profiles. Without a filter, a million take less than a tenth of a second. */
export function countProfiles(db: Db, filter: ProfileFilter, nowMs: number): number {
  return guardDatabase(db.$client.filename, () => {
    return (
      db
        .select({ count: count() })
        .from(profiles)
        .where(matching(db, filter, nowMs))
        .get()?.count ?? 0
    );
  });
}

function matching(db: Db, filter: ProfileFilter, nowMs: number): SQL | undefined {
  const { nameBegins, isBanned, lacksEmail, hasKeys } = filter;
  const { profileId, state, expiresAt } = apiKeys;
  // The expiry of an Active or suspended key may not be stored yet.
  const isHolding = or(
    eq(state, 'pending'),
    and(inArray(state, ['Active', 'suspended']), or(isNull(expiresAt), gt(expiresAt, nowMs))),
  );
  const named = db
    .select({ id: profileNames.profileId })
    .from(profileNames)
    .where(between(profileNames.folded, ...firstNames(nameBegins ?? '')));
  return and(
    nameBegins === undefined ? undefined : inArray(profiles.id, named),
    // The value is part of the partial index's condition.
    isBanned === undefined ? undefined : eq(profiles.banned, isBanned).inlineParams(),
    lacksEmail === true ? isNull(profiles.email) : undefined,
    hasKeys === true ? inArray(profiles.id, db.select({ id: profileId }).from(apiKeys).where(isHolding)) : undefined,
  );
}
