import { and, asc, between, count, eq, gt, inArray, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { Db, Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { profileNames, profiles } from '../db/schema/profiles.ts';
import { withTables } from '../db/tables.ts';
import { oversizedIds } from './lookup/public-size.ts';
import { foldName, NAME_MAX_CODE_POINTS } from './name.ts';

/** The filter of a list: profiles that meet every given condition. */
export type ProfileFilter = {
  /** How a username or an alias begins, compared in folded form. */
  nameBegins?: string | undefined;
  isBanned?: boolean | undefined;
  /** Has no e-mail address, so that no key can be requested for it. */
  lacksEmail?: boolean | undefined;
  /** Has a key that is pending, Active or suspended. */
  hasKeys?: boolean | undefined;
  /** Shows more bytes than this as JSON, its links included. */
  showsMoreThanBytes?: number | undefined;
};

/** A profile as a list shows it. Private fields are left out. */
export type ListedProfile = {
  id: number;
  username: string;
  displayName: string;
  banned: boolean;
  viewsCount: number;
  /** ISO 8601 in UTC; null if the stored time is damaged. */
  createdAt: string | null;
};

// No name has more code points than this, so that no name with the same beginning comes after it.
const LAST_CHARACTERS = '\u{10FFFF}'.repeat(NAME_MAX_CODE_POINTS);

/** The first and the last folded name that can begin with a text. */
export function firstNames(begins: string): [first: string, last: string] {
  const folded = foldName(begins);
  return [folded, folded + LAST_CHARACTERS];
}

/** The time in ISO 8601; NULL if it is outside the years that SQLite knows. */
const CREATED_AT = sql<string | null>`strftime('%FT%H:%M:%fZ', ${profiles.createdAt} / 1000.0, 'unixepoch')`;

/**
 * One page: at most `limit` matching profiles after the id `after`, by id; `next` is the id after which the next page begins,
 * null on the last one.
 */
export function listProfiles(
  opened: Opened,
  { filter, after, limit, nowMs }: { filter: ProfileFilter; after: number; limit: number; nowMs: number },
): { profiles: ListedProfile[]; next: number | null } {
  return guardDatabase(opened.$client.filename, () => {
    const db = withTables(opened);
    const { id, username, displayName, banned, viewsCount } = profiles;
    // One more than `limit` shows whether there is a next page.
    const rows = db
      .select({ id, username, displayName, banned, viewsCount, createdAt: CREATED_AT })
      .from(profiles)
      .where(and(gt(id, after), matching(db, filter, nowMs)))
      .orderBy(asc(id))
      .limit(limit + 1)
      .all();
    const shown = rows.slice(0, limit);
    return { profiles: shown, next: rows.length > limit ? (shown.at(-1)?.id ?? null) : null };
  });
}

/** The number of matching profiles. Without a filter, a million take less than a tenth of a second. */
export function countProfiles(opened: Opened, filter: ProfileFilter, nowMs: number): number {
  return guardDatabase(opened.$client.filename, () => {
    const db = withTables(opened);
    return (
      db
        .select({ count: count() })
        .from(profiles)
        .where(matching(db, filter, nowMs))
        .get()?.count ?? 0
    );
  });
}

/** The condition of a filter. */
function matching(db: Db, filter: ProfileFilter, nowMs: number): SQL | undefined {
  const { nameBegins, isBanned, lacksEmail, hasKeys, showsMoreThanBytes } = filter;
  const { profileId, state, expiresAt } = apiKeys;
  // An Active or suspended key may have expired although that is not stored yet.
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
    // The index of banned profiles has this in its condition.
    isBanned === undefined ? undefined : eq(profiles.banned, isBanned).inlineParams(),
    lacksEmail === true ? isNull(profiles.email) : undefined,
    hasKeys === true ? inArray(profiles.id, db.select({ id: profileId }).from(apiKeys).where(isHolding)) : undefined,
    showsMoreThanBytes === undefined ? undefined : isAmong(oversizedIds(db.$client, showsMoreThanBytes)),
  );
}

function isAmong(ids: readonly number[]): SQL {
  return sql`${profiles.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`;
}
