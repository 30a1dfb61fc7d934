import type { Sqlite, Tx } from '../db/open.ts';
import { MAX_NOTED_IDS, noteChanges } from './changes.ts';
import { eraseById } from './erase.ts';
import { MAX_LINE_BYTES, nameGivenTwice, type ProfileColumns, type ProfileLine } from './line.ts';
import type { LinkFields, Name } from './line-values.ts';
import { createProfileReader, lineOf, type StoredProfile } from './record.ts';
import { type Clash, createStage, type TakenAt } from './stage.ts';

/** A checked line on its way into the database. */
export type Entry = { number: number; bytes: number; line: ProfileLine };

/** What one pass over some lines did, and what stands against committing it. */
export type Applied = { imported: number; deleted: number };

/** What a pass needs to know and whom it tells. */
export type ApplyOptions = {
  merge: boolean;
  /** Who imports, for the history of keys of erased profiles. */
  by: string;
  /** The time of import, for `createdAt` and the history. */
  nowMs: number;
  /** Remembers which line took which name; a map, or a table where there may be too many. */
  takenAt: TakenAt;
  /** A line that can't be taken as things stand; the pass went on without it. */
  refuse: (number: number, reason: string) => void;
  /** A line that was taken and clashes: the pass must be rolled back. */
  clash: (clash: Clash) => void;
};

/** Applies lines in their order inside a transaction. */
export type Applier = (tx: Tx, entries: Iterable<Entry>, options: ApplyOptions) => Applied;

// A line grows when it is written out with all its fields and its numbers in full, but never eightfold.
const MAY_GROW_TOO_LONG_BYTES = MAX_LINE_BYTES / 8;

/**
 * Prepares the statements of an import once. Later lines win; names and auth IDs that are given up anywhere in the pass
 * are free for the others; an existing row is changed in place, never deleted and made anew, for keys refer to it. What
 * a pass changes is noted for other processes.
 */
export function createApplier(sqlite: Sqlite): Applier {
  const reader = createProfileReader(sqlite);
  const stage = createStage(sqlite);
  const insert = sqlite.prepare(`${INSERT} ON CONFLICT DO NOTHING`);
  const upsert = sqlite.prepare(`${INSERT} ${UPDATE}`);
  const clearLinks = sqlite.prepare('DELETE FROM links WHERE profile_id = ?');
  const addLink = sqlite.prepare('INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');

  function putLinks(id: number, links: readonly LinkFields[], isNew: boolean): void {
    const held = isNew ? [] : reader.links(id);
    if (held.length === links.length && links.every((link, index) => sameLink(link, held[index]))) return;
    if (held.length > 0) clearLinks.run(id);
    for (const [position, l] of links.entries()) {
      addLink.run(id, position, l.id, l.name, l.link, l.title, l.image, l.clicksCount, l.linkMode);
    }
  }

  /** Puts a row in where neither its id nor its auth ID is there yet: most lines need no other look at the table. */
  function insertNew(id: number, username: string, row: ProfileColumns, number: number, takenAt: TakenAt): boolean {
    if (insert.run(...valuesOf(id, username, row)).changes === 0) return false;
    if (row.authId !== null) takenAt.set(`auth:${row.authId}`, number);
    return true;
  }

  /** Returns why the line can't be taken, or null once it is. */
  function put({ number, bytes, line }: Entry, options: ApplyOptions): string | null {
    const { id } = line;
    const base = options.merge ? reader.row(id) : null;
    const names = namesOf(line, base === null ? [] : stage.names(id));
    if (typeof names === 'string') return names;
    const [username] = names;
    if (username === undefined) return `username is missing, and there is no profile ${id} to merge the line into`;

    const row = { ...(base === null ? defaults(username.name, options.nowMs) : flagsOf(base)), ...line.columns };
    const isNew = base === null && insertNew(id, username.name, row, number, options.takenAt);
    if (!isNew) {
      const setsAuthId = base === null || line.columns.authId !== undefined;
      if (setsAuthId) row.authId = stage.claimAuthId(id, row.authId, number, options.takenAt);
      upsert.run(...valuesOf(id, username.name, row));
    }
    if (base === null || line.username !== undefined || line.aliases !== undefined) {
      stage.claimNames(id, names, number, isNew, options.takenAt);
    }
    if (base === null || line.links !== undefined) putLinks(id, line.links ?? [], isNew);
    if (base !== null || bytes > MAY_GROW_TOO_LONG_BYTES) checkLength(id, number, options);
    return null;
  }

  function checkLength(id: number, number: number, { clash }: ApplyOptions): void {
    const text = lineOf(reader.row(id) as StoredProfile, stage.names(id), reader.links(id));
    if (Buffer.byteLength(text) <= MAX_LINE_BYTES) return;
    clash({ loser: number, winner: null, reason: 'the profile would take a line of more than 1 MiB when exported' });
  }

  return (tx, entries, options) => {
    const done = { imported: 0, deleted: 0 };
    const changed = new Set<number>();
    stage.begin();
    for (const entry of entries) {
      if (entry.line.deleted) {
        stage.forget(entry.line.id);
        if (eraseById(tx, entry.line.id, options.by, options.nowMs)) done.deleted++;
        continue;
      }
      const reason = put(entry, options);
      if (reason !== null) options.refuse(entry.number, reason);
      else {
        done.imported++;
        // One too many is enough to know.
        if (changed.size <= MAX_NOTED_IDS) changed.add(entry.line.id);
      }
    }
    stage.settle(options.takenAt, options.clash);
    noteChanges(sqlite, done.deleted > 0 ? null : changed);
    return done;
  };
}

const INSERT = `INSERT INTO profiles (id, username, display_name, badges, assets, customize, discord_id, discord_clean, banned,
    views_count, followers_count, show_followers_count, created_at, auth_id, email)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const UPDATE = `ON CONFLICT (id) DO UPDATE SET username = excluded.username, display_name = excluded.display_name,
    badges = excluded.badges, assets = excluded.assets, customize = excluded.customize,
    discord_id = excluded.discord_id, discord_clean = excluded.discord_clean, banned = excluded.banned,
    views_count = excluded.views_count, followers_count = excluded.followers_count,
    show_followers_count = excluded.show_followers_count, created_at = excluded.created_at,
    auth_id = excluded.auth_id, email = excluded.email`;

function valuesOf(id: number, username: string, row: ProfileColumns) {
  return [
    id,
    username,
    row.displayName,
    row.badges,
    row.assets,
    row.customize,
    row.discordId,
    row.discordClean,
    row.banned,
    row.viewsCount,
    row.followersCount,
    row.showFollowersCount,
    row.createdAt,
    row.authId,
    row.email,
  ];
}

/** What an absent field amounts to. */
function defaults(username: string, nowMs: number): ProfileColumns {
  return {
    displayName: username,
    badges: '[]',
    assets: '{}',
    customize: '{}',
    discordId: null,
    discordClean: '{}',
    banned: false,
    viewsCount: 0,
    followersCount: 0,
    showFollowersCount: true,
    createdAt: nowMs,
    authId: null,
    email: null,
  };
}

function flagsOf({ id: _id, username: _username, ...row }: StoredProfile): ProfileColumns {
  return { ...row, banned: row.banned === 1, showFollowersCount: row.showFollowersCount === 1 };
}

function sameLink(a: LinkFields, b: LinkFields | undefined): boolean {
  return (
    b !== undefined &&
    a.id === b.id &&
    a.name === b.name &&
    a.link === b.link &&
    a.title === b.title &&
    a.image === b.image &&
    a.clicksCount === b.clicksCount &&
    a.linkMode === b.linkMode
  );
}

/** The names the profile is to have, the username first; `current` are the ones a line without names leaves it. */
function namesOf(line: ProfileLine, current: readonly Name[]): Name[] | string {
  const username = line.username ?? current[0];
  const aliases = line.aliases ?? current.slice(1);
  const twice = current.length === 0 ? null : nameGivenTwice(username, aliases);
  if (twice !== null) return `aliases ${twice}`;
  return username === undefined ? [] : [username, ...aliases];
}
