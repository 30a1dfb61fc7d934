import { type BoundedCache, createBoundedCache, createDoor } from '../bounded-cache.ts';
import type { Reader } from '../db/reader.ts';
import { prepareChanges } from './changes.ts';
import { foldName } from './name.ts';
import { LINK_COLUMNS, type LinkRow, linksBody, PUBLIC_COLUMNS, type PublicRow, simplifiedProfile } from './public.ts';

/** A JSON text that is sent; its entity tag is noted on it when it is first needed. */
export type Text = { readonly body: string; etag?: string };

/** What the service shows of a profile. */
export type Shown = {
  readonly id: number;
  /** Differs from that of every other reading of a profile. */
  readonly stamp: number;
  readonly username: string;
  /** The username as it is compared. */
  readonly folded: string;
  /** The SimplifiedProfile. */
  readonly profile: Text;
  /** `{"links":[…]}`, once it was asked for. */
  links: Text | null;
};

/** Where lookups find profiles, by what the ways lead to; null where there is nothing. */
export type Source = {
  ofName: (folded: string) => Shown | null;
  ofId: (id: number) => Shown | null;
  ofAuthId: (authId: string) => Shown | null;
  /** In the owner's order. */
  linksOf: (shown: Shown) => Text;
};

/** Where a name or an auth ID led: to this reading of a profile, and nowhere once that is no longer kept. */
type Lead = { id: number; stamp: number };

/** What is kept at most, profiles with their links; names and auth IDs that lead to them take half as much again. */
const MAX_BYTES = 16 * 1024 * 1024;

/** So many profiles are remembered as asked for once. */
const DOOR = 65_536;

/** A row as it is shown. */
export function shownOf(row: PublicRow, stamp: number): Shown {
  const { id, username } = row;
  return { id, stamp, username, folded: foldName(username), profile: { body: simplifiedProfile(row) }, links: null };
}

/**
 * Prepares the reading of profiles. What is kept is dropped as the log of changes names it, at the beginning of the view
 * that first sees the change; a commit that notes nothing there (a key's, the usage's, one by hand) drops everything. Only
 * one by hand in the same moment as a noted one is missed, until the usage is written: ten seconds.
 */
export function prepareProfiles(reader: Reader, maxBytes = MAX_BYTES): Source {
  const { sqlite } = reader;
  // Two point reads are faster here than one join.
  const idOfName = sqlite.prepare<{ id: number }, [string]>(
    'SELECT profile_id AS id FROM profile_names WHERE folded = ?',
  );
  const idOfAuthId = sqlite.prepare<{ id: number }, [string]>('SELECT id FROM profiles WHERE auth_id = ?');
  const rowOfId = sqlite.prepare<PublicRow, [number]>(`SELECT ${PUBLIC_COLUMNS} FROM profiles WHERE id = ?`);
  const linksOfId = sqlite.prepare<LinkRow, [number]>(
    `SELECT ${LINK_COLUMNS} FROM links WHERE profile_id = ? ORDER BY position`,
  );
  const byId = createBoundedCache<number, Shown>(maxBytes);
  const byName = createBoundedCache<string, Lead>(maxBytes / 4);
  const byAuthId = createBoundedCache<string, Lead>(maxBytes / 4);
  const comesAgain = createDoor(DOOR);
  const changes = prepareChanges(sqlite);
  let stamp = 0;
  let seq = 0;

  reader.onCommit(() => {
    const { seq: next, ids } = changes.since(seq);
    if (ids === null || next === seq) for (const cache of [byId, byName, byAuthId]) cache.clear();
    else for (const id of ids) byId.delete(id);
    seq = next;
  });

  function ofId(id: number): Shown | null {
    const kept = byId.get(id);
    if (kept !== undefined) return kept;
    const row = rowOfId.get(id);
    if (row === null) return null;
    const shown = shownOf(row, ++stamp);
    if (comesAgain(id)) byId.set(id, shown, bytesOf(shown));
    return shown;
  }

  function by(cache: BoundedCache<string, Lead>, text: string, find: (text: string) => { id: number } | null) {
    const kept = cache.get(text);
    // What leads to a profile is as fresh as the profile: taking a name or an auth ID away changes whom it is taken from.
    const known = kept === undefined ? undefined : byId.get(kept.id);
    if (known !== undefined && known.stamp === kept?.stamp) return known;
    const id = find(text)?.id;
    const shown = id === undefined ? null : ofId(id);
    if (shown !== null && byId.get(shown.id) === shown)
      cache.set(text, { id: shown.id, stamp: shown.stamp }, 2 * text.length);
    else if (kept !== undefined) cache.delete(text);
    return shown;
  }

  return {
    ofId,
    ofName: (folded) => by(byName, folded, (name) => idOfName.get(name)),
    ofAuthId: (authId) => by(byAuthId, authId, (text) => idOfAuthId.get(text)),
    linksOf: (shown) => {
      if (shown.links !== null) return shown.links;
      const links = { body: linksBody(linksOfId.all(shown.id)) };
      if (byId.get(shown.id) === shown) {
        shown.links = links;
        byId.set(shown.id, shown, bytesOf(shown));
      }
      return links;
    },
  };
}

/** At two bytes a character, which is what texts beyond Latin-1 take. */
function bytesOf({ username, profile, links }: Shown): number {
  return 2 * (2 * username.length + profile.body.length + (links?.body.length ?? 0));
}
