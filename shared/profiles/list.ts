import type { Db } from '../db/connect.ts';
import type { Profile } from './fields.ts';
import { foldName, NAME_MAX_CODE_POINTS } from './name.ts';

/** A part of the list: at most `limit` profiles with ids after `after`. */
export type ListPart = {
  /** The beginning of a username or an alias, compared in folded form. */
  nameBegins?: string | undefined;
  isBanned?: boolean | undefined;
  after: number;
  limit: number;
};

/** A profile in a list, without private fields. Times are ISO 8601 in UTC. */
export type ListedProfile = Pick<Profile, 'id' | 'username' | 'displayName' | 'banned' | 'viewsCount' | 'createdAt'>;

// Names have at most this many code points, so no name with the same beginning sorts after it.
const LAST_CHARACTERS = '\u{10FFFF}'.repeat(NAME_MAX_CODE_POINTS);

/** Lists profiles that meet all conditions, by id. `next` is the last id of the part; null if none follows. */
export function listProfiles(
  db: Db,
  { nameBegins, isBanned, after, limit }: ListPart,
): { profiles: ListedProfile[]; next: number | null } {
  const named = 'id IN (SELECT profile_id FROM profile_names WHERE folded BETWEEN $first AND $last)';
  const conditions = [
    'id > $after',
    ...(nameBegins === undefined ? [] : [named]),
    // A literal, because of the partial index.
    ...(isBanned === undefined ? [] : [`banned = ${Number(isBanned)}`]),
  ];
  const first = foldName(nameBegins ?? '');
  const rows = db.$client
    .query<{ profile: string }, [Record<string, string | number>]>(
      `SELECT profile FROM profiles WHERE ${conditions.join(' AND ')} ORDER BY id LIMIT $limit`,
    )
    // One more than `limit` shows whether others follow.
    .all({ after, limit: limit + 1, ...(nameBegins !== undefined && { first, last: first + LAST_CHARACTERS }) });
  const profiles = rows.slice(0, limit).map((row): ListedProfile => {
    const { id, username, displayName, banned, viewsCount, createdAt } = JSON.parse(row.profile) as Profile;
    return { id, username, displayName, banned, viewsCount, createdAt };
  });
  return { profiles, next: rows.length > limit ? (profiles.at(-1)?.id ?? null) : null };
}
