import { FIELDS, type FieldName, type Line, type Profile, PUBLIC_FIELDS } from './fields.ts';
import { foldName } from './name.ts';

/** A row of `profiles` as an import reads and writes it; flags are 0 or 1. */
export type Row = {
  id: number;
  /** What lookups return, as JSON. */
  profile: string;
  links: string;
  email: string | null;
  authId: string | null;
  followersCount: number;
  showFollowersCount: number;
  showOnLeaderboard: number;
};

/** A row, when it was written (milliseconds since 1970), and what its JSON says of the ban and the display name. */
export type HeldRow = Row & { writtenAt: number; banned: number; displayName: string };

/** A username or an alias with its folded form. */
export type Name = { name: string; folded: string };

/** The columns of a {@link Row}, and when it was written. */
export const ROW_COLUMNS = `id, profile, links, email, auth_id AS authId, followers_count AS followersCount,
  show_followers_count AS showFollowersCount, show_on_leaderboard AS showOnLeaderboard, written_at AS writtenAt`;

/** The row that stores a profile. */
export function rowOf(profile: Profile): Row {
  const { id, email, authId, followersCount, showFollowersCount, showOnLeaderboard } = profile;
  const shown: Record<string, unknown> = {};
  for (const field of PUBLIC_FIELDS) shown[field] = profile[field];
  if (!showFollowersCount) shown.followersCount = null;
  return {
    id,
    profile: JSON.stringify(shown),
    links: JSON.stringify({ links: profile.links }),
    email,
    authId,
    followersCount,
    showFollowersCount: Number(showFollowersCount),
    showOnLeaderboard: Number(showOnLeaderboard),
  };
}

/** The profile in a row, with its aliases. */
export function profileOf(row: Row, aliases: readonly string[]): Profile {
  return {
    ...(JSON.parse(row.profile) as Profile),
    ...(JSON.parse(row.links) as Pick<Profile, 'links'>),
    aliases: [...aliases],
    authId: row.authId,
    email: row.email,
    followersCount: row.followersCount,
    showFollowersCount: row.showFollowersCount === 1,
    showOnLeaderboard: row.showOnLeaderboard === 1,
  };
}

const LINE_FIELDS = Object.keys(FIELDS) as FieldName[];

/**
 * A profile as a line of JSON without a line end (docs/profiles.md). It has all fields in the order of the example in that
 * document; only optional fields of links are absent if they have no value.
 */
export function textOf(profile: Profile): string {
  return JSON.stringify(Object.fromEntries(LINE_FIELDS.map((field) => [field, profile[field]])));
}

/** The fields that a line may lack, with what they are then. */
const COMPLETED = Object.entries<Pick<(typeof FIELDS)[FieldName], 'absent'> & { isKept?: true }>(FIELDS).map(
  ([name, { absent, isKept = false }]) => ({ name: name as FieldName, absent, isKept }),
);

/**
 * The profile that a line describes. With `base`, the line is merged into that profile: only the fields that it has change.
 * Otherwise absent fields get their defaults, except those that a profile which is replaced keeps (`kept`).
 */
export function completed(
  line: Line,
  username: string,
  { base, kept, nowMs }: { base: Profile | null; kept: Profile | null; nowMs: number },
): Profile {
  const profile: Partial<Record<FieldName, unknown>> = {};
  for (const { name, absent, isKept } of COMPLETED) {
    const given = line[name] === undefined && base !== null ? base[name] : line[name];
    profile[name] = given ?? (isKept ? kept?.[name] : null) ?? absent(username, nowMs);
  }
  profile.username = username;
  return profile as Profile;
}

/** The names of a profile, the username first, without repetitions, of which there were so many. */
export function namesOf({ username, aliases }: Pick<Profile, 'username' | 'aliases'>): {
  names: Name[];
  repeated: number;
} {
  const names = [{ name: username, folded: foldName(username) }];
  if (aliases.length === 0) return { names, repeated: 0 };
  const seen = new Set(names.map(({ folded }) => folded));
  for (const name of aliases) {
    const folded = foldName(name);
    if (!seen.has(folded)) names.push({ name, folded });
    seen.add(folded);
  }
  return { names, repeated: aliases.length + 1 - names.length };
}
