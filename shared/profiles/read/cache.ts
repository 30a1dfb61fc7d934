import { prepareChanges } from '../../db/changes.ts';
import type { Sqlite } from '../../db/connect.ts';
import { onView, type Reader } from '../../db/reader.ts';
import { AppError } from '../../errors.ts';
import { foldName } from '../name.ts';
import { type BoundedCache, createBoundedCache, createDoor } from './bounded-cache.ts';
import { linksBodyOf, PROFILE_BODY } from './public.ts';

/** A JSON text that is sent. */
export type Text = { readonly body: string };

/** A reading of what the service shows of a profile: the SimplifiedProfile, or its links. Thousands are kept: one object each. */
export type Shown = Text & {
  readonly id: number;
  /** Differs from that of every other reading. */
  readonly stamp: number;
  readonly username: string;
  /** The username as it is compared. */
  readonly folded: string;
};

/**
 * Where lookups find one of the two, by what the ways lead to; null where there is no profile. Throws `internal` for a
 * profile whose stored values are damaged.
 */
export type Source = {
  ofName: (folded: string) => Shown | null;
  ofId: (id: number) => Shown | null;
  ofAuthId: (authId: string) => Shown | null;
};

/** What there is to find of profiles. */
export type Sources = {
  profiles: Source;
  /** A profile for who keeps what he makes of it: here it takes no place of what is asked for again. */
  profileOnce: Source['ofId'];
  /** `{"links":[…]}`, in the owner's order. */
  links: Source;
  /** Has a function told which profiles have changed, null where any may have, at the beginning of the view that sees it. */
  onChange: (act: (ids: readonly number[] | null) => void) => void;
};

/** What is read of a profile at once; `body` is null where a stored value that it would show is damaged. */
type Row = { id: number; username: string; body: string | null };

/** Where a name or an auth ID led: to this reading of a profile, and nowhere once that is no longer kept. */
type Lead = { id: number; stamp: number };

/** What is kept at most of each; names and auth IDs that lead there take half as much again. */
const MAX_BYTES = { profiles: 8 * 1024 * 1024, links: 4 * 1024 * 1024 };

/** What a reading takes beside its texts: an object, two strings' heads, the map's place. */
const SHOWN_BYTES = 300;

/** What a name or an auth ID takes beside its text. */
const LEAD_BYTES = 100;

/** So many profiles are remembered as asked for once: some times as many as are kept. More would let in more by chance. */
const DOOR = 16_384;

/** The statements of a source: each gives a {@link Row}, or none. */
type Statements = Record<keyof Source, string>;

const PROFILES = `SELECT id, username, ${PROFILE_BODY} AS body FROM profiles WHERE`;
const LINKS = `SELECT id, username, ${linksBodyOf('profiles.id')} AS body FROM profiles WHERE`;

// A join would take five times as long as the inner SELECT.
const OF_PROFILES: Statements = {
  ofName: `${PROFILES} id = (SELECT profile_id FROM profile_names WHERE folded = ?)`,
  ofId: `${PROFILES} id = ?`,
  ofAuthId: `${PROFILES} auth_id = ?`,
};

// A username, which is the name at position 0, leads to its links past the profile's row.
const OF_LINKS: Statements = {
  ofName: `SELECT profile_id AS id, iif(position = 0, name, (SELECT username FROM profiles WHERE id = profile_id)) AS username,
    ${linksBodyOf('profile_names.profile_id')} AS body FROM profile_names WHERE folded = ?`,
  ofId: `${LINKS} id = ?`,
  ofAuthId: `${LINKS} auth_id = ?`,
};

/**
 * After a commit with a note everything is dropped so many milliseconds later. This is for people who change the database
 * with SQL of their own: such a commit has no note, and drops everything at once, unless the same view sees it together
 * with a commit that has one. To read a hundred hot profiles again takes a few milliseconds, a full cache half a second.
 */
const DROP_ALL_AFTER_MS = 10_000;

/**
 * Prepares the reading of profiles and links, which are kept in memory until they change. A view that sees a commit drops
 * the profiles that the commit's note names (`shared/db/changes.ts`), or everything where there is no note.
 */
export function prepareProfiles(reader: Reader, maxBytes = MAX_BYTES): Sources {
  const { sqlite } = reader;
  const profiles = keepingSource(sqlite, OF_PROFILES, maxBytes.profiles);
  const links = keepingSource(sqlite, OF_LINKS, maxBytes.links);
  const changes = prepareChanges(sqlite);
  const listeners: Parameters<Sources['onChange']>[0][] = [profiles.drop, links.drop];
  let seq = 0;
  let dropAllAtMs = Number.POSITIVE_INFINITY;
  const drop = (ids: readonly number[] | null, nowMs: number) => {
    for (const act of listeners) act(ids);
    dropAllAtMs = ids === null ? Number.POSITIVE_INFINITY : Math.min(dropAllAtMs, nowMs + DROP_ALL_AFTER_MS);
  };

  onView(reader, (hasCommits, nowMs) => {
    if (hasCommits) {
      const { seq: next, ids } = changes.since(seq);
      drop(next === seq ? null : ids, nowMs);
      seq = next;
    }
    if (nowMs >= dropAllAtMs) drop(null, nowMs);
  });
  return { profiles, profileOnce: profiles.once, links, onChange: (act) => void listeners.push(act) };
}

/** A reading as it is shown. Throws `internal` where the row has no body. */
export function shownOf({ id, username, body }: Row, stamp: number): Shown {
  if (body === null) {
    throw new AppError('internal', `What is stored of profile ${id} is damaged; import it again or restore a backup.`);
  }
  const folded = foldName(username);
  // One string for both, where they are the same.
  return { id, stamp, username: folded === username ? folded : username, folded, body };
}

/** A source that keeps what is asked for again, until it is dropped: what there is of these profiles, or everything. */
function keepingSource(sqlite: Sqlite, statements: Statements, maxBytes: number) {
  const byId = createBoundedCache<number, Shown>(
    maxBytes,
    (_, { username, body }) => SHOWN_BYTES + 2 * (2 * username.length + body.length),
  );
  const byText: BoundedCache<string, Lead>[] = [];
  const comesAgain = createDoor(DOOR);
  let stamp = 0;

  function keep(shown: Shown): Shown {
    byId.set(shown.id, shown);
    return shown;
  }

  function by(statement: string): (text: string) => Shown | null {
    const read = sqlite.prepare<Row, [string]>(statement);
    const leads = createBoundedCache<string, Lead>(maxBytes / 4, (text) => LEAD_BYTES + 2 * text.length);
    byText.push(leads);
    return (text) => {
      const lead = leads.get(text);
      // A lead is as fresh as the profile: taking a name or an auth ID away changes whom it is taken from.
      const known = lead === undefined ? undefined : byId.get(lead.id);
      if (known !== undefined && known.stamp === lead?.stamp) return known;
      const row = read.get(text);
      if (row === null) return null;
      const shown = shownOf(row, ++stamp);
      if (!comesAgain(row.id)) return shown;
      const kept = byId.get(row.id) ?? keep(shown);
      // One string for both, where they are the same.
      leads.set(text === kept.folded ? kept.folded : text, { id: kept.id, stamp: kept.stamp });
      return kept;
    };
  }

  const readId = sqlite.prepare<Row, [number]>(statements.ofId);
  function once(id: number): Shown | null {
    const row = readId.get(id);
    return row === null ? null : shownOf(row, ++stamp);
  }
  const source: Source = {
    ofName: by(statements.ofName),
    ofId: (id) => {
      const kept = byId.get(id);
      if (kept !== undefined) return kept;
      const shown = once(id);
      return shown !== null && comesAgain(id) ? keep(shown) : shown;
    },
    ofAuthId: by(statements.ofAuthId),
  };
  const drop = (ids: readonly number[] | null) => {
    if (ids === null) for (const cache of [byId, ...byText]) cache.clear();
    else for (const id of ids) byId.delete(id);
  };
  return { ...source, once, drop };
}
