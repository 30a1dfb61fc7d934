import { MAX_NOTED_IDS, noteChanges } from '../../db/changes.ts';
import type { Sqlite, Tx } from '../../db/connect.ts';
import { noteErasure } from '../../db/erasures.ts';
import { isSameAddress } from '../../mail/address.ts';
import { COLUMN_LIST, type StoredProfile } from '../field-values.ts';
import { createProfileReader } from '../record.ts';
import { nameGivenTwice, type ProfileLine } from './line.ts';
import type { Name } from './line-values.ts';
import {
  beginClaims,
  type Clash,
  claimAuthId,
  claimedNames,
  claimNames,
  createNameClaims,
  dropClaims,
  type NameClaims,
  settleClaims,
  type TakenAt,
} from './name-claims.ts';
import { createSizeCheck, type SizeCheck, sizeFault } from './size-check.ts';
import { createRowWriter, type RowWriter } from './write-row.ts';

/** A line that was checked, its number in the file and its length in bytes. */
export type Entry = { number: number; bytes: number; line: ProfileLine };

/** How many lines of a pass were imported, and how many profiles were erased. */
export type Applied = { imported: number; deleted: number };

/**
 * What an import does to the keys of profiles, inside its transaction. It is handed in, because this room does not know
 * keys (`effectsOnKeys` in shared/erasure).
 */
export type EffectsOnKeys = {
  /** Erases the profile with this id, with everything that belongs to it. Returns whether there was such a profile. */
  erase: (tx: Tx, id: number, nowMs: number) => boolean;
  /** Called where a profile's e-mail address becomes another one, or none; `formerEmail` is the one that it had. */
  readdress: (tx: Tx, sqlite: Sqlite, change: { profileId: number; formerEmail: string }, nowMs: number) => void;
};

/** How to apply the lines of a pass, and what is called for lines that can't be applied. */
export type ApplyOptions = {
  merge: boolean;
  onKeys: EffectsOnKeys;
  /** The time of the import, for `createdAt` and for the history of keys; milliseconds since 1970. */
  nowMs: number;
  /** Stores which line took which name: a map, or a table where there may be too many for memory. */
  takenAt: TakenAt;
  /** Called for a line that can't be applied; the pass goes on without it. */
  refuse: (number: number, reason: string) => void;
  /** Called for a line that was applied and clashes; the caller must roll the pass back. */
  clash: (clash: Clash) => void;
};

/** Applies lines in their order inside a transaction; returns how many were imported and how many profiles erased. */
export type Applier = (tx: Tx, entries: Iterable<Entry>, options: ApplyOptions) => Applied;

/** What applying lines works with, prepared once for many passes. */
type ApplyState = {
  readonly sqlite: Sqlite;
  readonly reader: ReturnType<typeof createProfileReader>;
  readonly writer: RowWriter;
  readonly claims: NameClaims;
  readonly sizes: SizeCheck;
  /**
   * Whether the next line's row is read before anything is written. Where one profile was in the database already, the next
   * one probably is too, and then reading it first is cheaper than trying to insert it.
   */
  readsFirst: boolean;
};

/**
 * Prepares the statements of an import. Later lines win over earlier ones. Names and auth IDs that one line gives up are
 * free for all others. A row that exists is updated and never deleted and inserted again, since keys refer to it. The
 * profiles that a pass changes are noted for the caches of other processes. A line after which lookups would show more
 * than `maxShownBytes` of its profile clashes.
 */
export function createApplier(sqlite: Sqlite, maxShownBytes: number): Applier {
  const state: ApplyState = {
    sqlite,
    reader: createProfileReader(sqlite),
    writer: createRowWriter(sqlite),
    claims: createNameClaims(sqlite),
    sizes: createSizeCheck(sqlite, maxShownBytes),
    readsFirst: false,
  };
  return (tx, entries, options) => applyLines(state, tx, entries, options);
}

function applyLines(state: ApplyState, tx: Tx, entries: Iterable<Entry>, options: ApplyOptions): Applied {
  const { sqlite, claims } = state;
  const done = { imported: 0, deleted: 0 };
  const changed = new Set<number>();
  beginClaims(claims);
  for (const entry of entries) {
    const { id, deleted } = entry.line;
    if (deleted) {
      dropClaims(claims, id);
      if (options.onKeys.erase(tx, id, options.nowMs)) done.deleted++;
      continue;
    }
    const reason = applyLine(state, tx, entry, options, changed);
    if (reason === null) done.imported++;
    else options.refuse(entry.number, reason);
  }
  settleClaims(claims, options.takenAt, options.clash);
  if (done.deleted > 0) noteErasure(sqlite, options.nowMs);
  noteChanges(sqlite, done.deleted > 0 ? null : changed);
  return done;
}

/** Returns why the line can't be taken, or null once it is; adds the profile's id to `changed` where the line changes it. */
function applyLine(
  state: ApplyState,
  tx: Tx,
  entry: Entry,
  options: ApplyOptions,
  changed: Set<number>,
): string | null {
  const { reader, claims, writer, sizes } = state;
  const { number, bytes, line } = entry;
  const { id } = line;
  const held = options.merge || state.readsFirst ? reader.row(id) : null;
  const base = options.merge ? held : null;
  const names = namesOf(line, base === null ? [] : claimedNames(claims, id));
  if (typeof names === 'string') return names;
  const [username] = names;
  if (username === undefined) return `username is missing, and there is no profile ${id} to merge the line into`;

  const row = Object.assign(
    base === null ? newRow(id, username.name, options.nowMs) : { ...base, username: username.name },
    line.columns,
  );
  const isNew = held === null && insertRow(writer, row, number, options.takenAt);
  state.readsFirst = !isNew;
  let differs = isNew || updateRow(state, tx, entry, { row, held, base }, options);
  if (base === null || line.username !== undefined || line.aliases !== undefined) {
    differs = claimNames(claims, { id, names, line: number, isNew }, options.takenAt) || differs;
  }
  if (base === null || line.links !== undefined) differs = writer.putLinks(id, line.links ?? [], isNew) || differs;
  if (!differs) return null;
  const reason =
    base !== null || bytes > sizes.harmlessBytes
      ? sizeFault(sizes, line, claimedNames(claims, id), base !== null)
      : null;
  if (reason !== null) options.clash({ loser: number, winner: null, reason });
  // One id above the most that is noted is enough: then all profiles count as changed.
  if (changed.size <= MAX_NOTED_IDS) changed.add(id);
  return null;
}

/** Inserts the row where neither its id nor its auth ID exists yet, which needs no other look at the table. */
function insertRow(writer: RowWriter, row: StoredProfile, number: number, takenAt: TakenAt): boolean {
  if (!writer.insert(row)) return false;
  if (row.authId !== null) takenAt.set(`auth:${row.authId}`, number);
  return true;
}

/** What {@link updateRow} writes: `held` is the row that was read before, `base` the one that a merged line changes. */
type RowUpdate = {
  row: StoredProfile;
  held: StoredProfile | null;
  base: StoredProfile | null;
};

/** Updates the row, or inserts it without an auth ID that another profile has. Returns whether that changes anything. */
function updateRow(
  { sqlite, reader, claims, writer }: ApplyState,
  tx: Tx,
  { number, line }: Entry,
  { row, held, base }: RowUpdate,
  { takenAt, onKeys, nowMs }: ApplyOptions,
): boolean {
  const { id } = line;
  const before = held ?? reader.row(id);
  const wanted = row.authId;
  if (base === null || line.columns.authId !== undefined) {
    row.authId = claimAuthId(claims, { id, authId: wanted, held: before?.authId ?? null, line: number }, takenAt);
  }
  const isReplaced = writer.replace(row, before);
  const formerEmail = before?.email ?? null;
  if (isReplaced && formerEmail !== null && !isSameAddress(formerEmail, row.email)) {
    onKeys.readdress(tx, sqlite, { profileId: id, formerEmail }, nowMs);
  }
  // An auth ID that is claimed but not given yet changes the row when the claims are settled.
  return isReplaced || row.authId !== wanted;
}

/** The values of the fields that a line leaves out; those that depend on the line or the time are computed for each. */
const DEFAULTS = Object.fromEntries(COLUMN_LIST.map(({ name, absent }) => [name, absent])) as StoredProfile;
const COMPUTED_DEFAULTS = COLUMN_LIST.flatMap(({ name, absent }) =>
  typeof absent === 'function' ? { name, absent } : [],
);

/** The row of a profile whose line gives nothing but its id and its username. */
function newRow(id: number, username: string, nowMs: number): StoredProfile {
  const row: Record<string, unknown> = { ...DEFAULTS, id, username };
  for (const { name, absent } of COMPUTED_DEFAULTS) row[name] = absent({ username, nowMs });
  return row as StoredProfile;
}

/** The names that the profile is to have, the username first, or why it can't have them. `current` are the names it has. */
function namesOf(line: ProfileLine, current: readonly Name[]): Name[] | string {
  const username = line.username ?? current[0];
  const aliases = line.aliases ?? current.slice(1);
  const twice = current.length === 0 ? null : nameGivenTwice(username, aliases);
  if (twice !== null) return `aliases ${twice}`;
  return username === undefined ? [] : [username, ...aliases];
}
