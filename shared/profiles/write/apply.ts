import { MAX_NOTED_IDS, noteChanges } from '../../db/changes.ts';
import type { Sqlite, Tx } from '../../db/connect.ts';
import { noteErasure } from '../../db/erasures.ts';
import { isSameAddress } from '../../mail/address.ts';
import type { ProfileColumns, StoredProfile } from '../field-values.ts';
import { createProfileReader } from '../record.ts';
import type { Clash, Loser, TakenAt } from './clash.ts';
import type { ProfileLine } from './line.ts';
import {
  beginClaims,
  claimAuthId,
  claimedNames,
  claimNames,
  createNameClaims,
  dropClaims,
  type NameClaims,
  settleClaims,
} from './name-claims.ts';
import type { Refusal } from './refusal.ts';
import { createSizeCheck, type SizeCheck, sizeFault } from './size-check.ts';
import { type Held, wantedOf } from './wanted.ts';
import { createRowWriter, type RowWriter } from './write-row.ts';

/** A line that was checked, its number in the file and its length in bytes. */
export type Entry = { number: number; bytes: number; line: ProfileLine };

/** Lines of a pass that went in; profiles erased, to be erased but not there, without the address that their line lacks. */
export type Applied = { imported: number; deleted: number; notThere: number; unaddressed: number };

/**
 * What an import does to the keys of profiles, inside its transaction. It is handed in, because this room does not know
 * keys (`effectsOnKeys` in shared/erasure).
 */
export type EffectsOnKeys = {
  /** Erases the profile with this id, with everything that belongs to it. Returns whether there was such a profile. */
  erase: (tx: Tx, id: number, nowMs: number) => boolean;
  /** Called where a profile's e-mail address becomes another one, or none; `formerEmail` is the one that it had. */
  readdress: (tx: Tx, sqlite: Sqlite, change: { profileId: number; formerEmail: string }, nowMs: number) => void;
  /** Called before a profile is erased: why whoever imports may not do that, or null. Absent where anything may be erased. */
  refuseErasure?: (sqlite: Sqlite, id: number, nowMs: number) => Refusal | null;
  /**
   * Called with the columns of a line, the row that it wants and the one that is there (null where none is), before it is
   * written; may change the wanted row, or return why whoever imports may not have that. Absent where all rows are allowed.
   */
  refuseRow?: (columns: Partial<ProfileColumns>, wanted: StoredProfile, held: StoredProfile | null) => Refusal | null;
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
  refuse: (loser: Loser) => void;
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
  const done = { imported: 0, deleted: 0, notThere: 0, unaddressed: 0 };
  const changed = new Set<number>();
  beginClaims(claims);
  for (const entry of entries) {
    const { id, deleted } = entry.line;
    if (deleted) {
      const forbidden = options.onKeys.refuseErasure?.(sqlite, id, options.nowMs) ?? null;
      if (forbidden !== null) {
        options.refuse({ line: entry.number, id, refusal: forbidden, isForName: false });
        continue;
      }
      dropClaims(claims, id);
      if (options.onKeys.erase(tx, id, options.nowMs)) done.deleted++;
      else done.notThere++;
      continue;
    }
    const refusal = applyLine(state, tx, entry, options, changed, done);
    if (refusal === null) done.imported++;
    else options.refuse({ line: entry.number, id, refusal, isForName: false });
  }
  settleClaims(claims, options.takenAt, options.clash);
  if (done.deleted > 0) noteErasure(sqlite, options.nowMs);
  noteChanges(sqlite, done.deleted > 0 ? null : changed);
  return done;
}

/** Returns why the line can't be taken, or null once it is; adds the profile to `changed`, and to `done`'s `unaddressed`. */
function applyLine(
  state: ApplyState,
  tx: Tx,
  entry: Entry,
  options: ApplyOptions,
  changed: Set<number>,
  done: Applied,
): Refusal | null {
  const { claims, writer, sizes } = state;
  const { number, bytes, line } = entry;
  const { id } = line;
  const { refuseRow } = options.onKeys;
  let held = options.merge || state.readsFirst || refuseRow !== undefined ? heldOf(state, id) : null;
  let wanted = wantedOf(line, held, options);
  if ('reason' in wanted) return wanted;
  const forbidden = refuseRow?.(line.columns, wanted.row, held?.row ?? null) ?? null;
  if (forbidden !== null) return forbidden;
  const isNew = held === null && insertRow(writer, wanted.row, number, options.takenAt);
  state.readsFirst = !isNew;
  if (!isNew && held === null) {
    held = heldOf(state, id);
    wanted = wantedOf(line, held, options);
    if ('reason' in wanted) return wanted;
  }
  const { row, names } = wanted;
  const current = held?.names ?? [];
  const isMerged = options.merge && held !== null;
  let differs = isNew || updateRow(state, tx, entry, { row, held: held?.row ?? null, isMerged }, options);
  differs = claimNames(claims, { id, names, current, line: number, isNew }, options.takenAt) || differs;
  if (!isMerged || line.links !== undefined) differs = writer.putLinks(id, line.links ?? [], isNew) || differs;
  if (!differs) return null;
  const keptBytes = line.aliases === undefined ? MAX_ALIAS_BYTES * (names.length - 1) : 0;
  if (isMerged || bytes + keptBytes > sizes.harmlessBytes) {
    const refusal = sizeFault(sizes, line, claimedNames(claims, id), isMerged);
    if (refusal !== null) options.clash({ line: number, id, winner: null, refusal, isForName: false });
  }
  if (line.columns.email === undefined && row.email === null && (held?.row.email ?? null) !== null) done.unaddressed++;
  // One id above the most that is noted is enough: then all profiles count as changed.
  if (changed.size <= MAX_NOTED_IDS) changed.add(id);
  return null;
}

/** The most bytes that an alias takes in an export line: 64 characters of 4 bytes, quotes and a comma. */
const MAX_ALIAS_BYTES = 259;

function heldOf({ reader, claims }: ApplyState, id: number): Held | null {
  const row = reader.row(id);
  return row === null ? null : { row, names: claimedNames(claims, id) };
}

/** Inserts the row where neither its id nor its auth ID exists yet, which needs no other look at the table. */
function insertRow(writer: RowWriter, row: StoredProfile, number: number, takenAt: TakenAt): boolean {
  if (!writer.insert(row)) return false;
  if (row.authId !== null) takenAt.set(`auth:${row.authId}`, number);
  return true;
}

/** What {@link updateRow} writes: `held` is the row that is there, null where only the auth ID is, in another one. */
type RowUpdate = {
  row: StoredProfile;
  held: StoredProfile | null;
  isMerged: boolean;
};

/** Updates the row, or inserts it without an auth ID that another profile has. Returns whether that changes anything. */
function updateRow(
  { sqlite, claims, writer }: ApplyState,
  tx: Tx,
  { number, line }: Entry,
  { row, held, isMerged }: RowUpdate,
  { takenAt, onKeys, nowMs }: ApplyOptions,
): boolean {
  const wanted = row.authId;
  if (!isMerged || line.columns.authId !== undefined) {
    const claim = { id: line.id, authId: wanted, held: held?.authId ?? null, line: number };
    row.authId = claimAuthId(claims, claim, takenAt);
  }
  const isReplaced = writer.replace(row, held);
  if (isReplaced && held !== null && !isSameAddress(held.email, row.email)) {
    writer.countAddressChange(line.id);
    if (held.email !== null) onKeys.readdress(tx, sqlite, { profileId: line.id, formerEmail: held.email }, nowMs);
  }
  // An auth ID that is claimed but not given yet changes the row when the claims are settled.
  return isReplaced || row.authId !== wanted;
}
