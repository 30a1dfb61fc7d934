import type { Sqlite, Tx } from '../../db/connect.ts';
import type { ProfileColumns, StoredProfile } from '../field-values.ts';
import type { StoredRow } from '../record.ts';
import type { ProfileLine } from './line.ts';
import type { Loser, NameConflict, TakenAt } from './name-conflicts.ts';
import type { NewerCheck, Times } from './newer.ts';
import type { PendingNames } from './pending-names.ts';
import type { Refusal } from './refusal.ts';
import type { SizeCheck } from './size-check.ts';
import type { RowWriter } from './write-row.ts';

// A pass applies some lines in one transaction.

/** A validated line, its number in the file and its length in bytes. */
export type Entry = { number: number; bytes: number; line: ProfileLine };

/** The counts of a pass. */
export type Applied = {
  imported: number;
  /** Erased profiles, deletions of missing profiles, and profiles whose line dropped their e-mail address. */
  deleted: number;
  notThere: number;
  unaddressed: number;
  /** Lines skipped because their profile was written or erased here after their data was read. */
  newer: number;
  newerIds: number[];
};

const MAX_NEWER_IDS = 10;

/** Adds the counts of two passes. */
export function addApplied(first: Applied, second: Applied): Applied {
  return {
    imported: first.imported + second.imported,
    deleted: first.deleted + second.deleted,
    notThere: first.notThere + second.notThere,
    unaddressed: first.unaddressed + second.unaddressed,
    newer: first.newer + second.newer,
    newerIds: [...new Set([...first.newerIds, ...second.newerIds])].slice(0, MAX_NEWER_IDS),
  };
}

/** The counts of a pass without lines. */
export const NOTHING_APPLIED: Readonly<Applied> = {
  imported: 0,
  deleted: 0,
  notThere: 0,
  unaddressed: 0,
  newer: 0,
  newerIds: [],
};

/** Counts a line that is skipped because its profile is newer. */
export function countNewer(done: Applied, id: number): void {
  done.newer++;
  if (done.newerIds.length < MAX_NEWER_IDS && !done.newerIds.includes(id)) done.newerIds.push(id);
}

/**
 * The effects of an import on keys and on the log, inside its transaction. The caller provides them (`effectsOnKeys` in
 * shared/erasure), because profiles are below keys.
 */
export type EffectsOnKeys = {
  /** Erases the profile with this id and everything that belongs to it. Returns whether it existed. */
  erase: (tx: Tx, id: number, nowMs: number) => boolean;
  /** Called once in a transaction that erased profiles, with their number. */
  erased: (tx: Tx, count: number, nowMs: number) => void;
  /** Called when a profile's e-mail address is changed or removed; `formerEmail` is the previous one. */
  readdress: (tx: Tx, change: { profileId: number; formerEmail: string }, nowMs: number) => void;
  ban: (tx: Tx, change: { profileId: number; isBanned: boolean }, nowMs: number) => void;
  /**
   * Called before a profile is erased: returns why the importer may not, or null. Absent if the importer may erase any
   * profile.
   */
  refuseErasure?: (tx: Tx, id: number, nowMs: number) => Refusal | null;
  /**
   * Called before a row is written, with the columns of the line, the merged row, and the stored row or null. May
   * change the merged row, or return why the importer may not write it. Absent if the importer may write any row.
   */
  refuseRow?: (columns: Partial<ProfileColumns>, wanted: StoredProfile, held: StoredProfile | null) => Refusal | null;
};

/** How to apply the lines of a pass, and callbacks for lines that can't be applied. */
export type ApplyOptions = {
  merge: boolean;
  onKeys: EffectsOnKeys;
  /** `nowMs`, read inside the transaction, is for `createdAt` and the history of keys. */
  times: Times;
  /** Whether a line that changes nothing renews the time of its row, since its sender confirms that it is current. */
  confirms: boolean;
  /** Records which line took which name: a map, or a table if the names may not fit into memory. */
  takenAt: TakenAt;
  /** Called for a line that can't be applied; the pass continues without it. */
  refuse: (loser: Loser) => void;
  /** Called for an applied line that conflicts: the caller must roll the pass back. */
  conflict: (conflict: NameConflict) => void;
};

/** The state of an applier, prepared once for many passes. */
export type ApplyState = {
  readonly sqlite: Sqlite;
  readonly readRow: (id: number) => StoredRow | null;
  readonly writer: RowWriter;
  readonly pending: PendingNames;
  readonly sizes: SizeCheck;
  readonly newer: NewerCheck;
  /**
   * Whether the next line's row is read before writing: if one profile existed, the next one probably does too, and
   * reading it first is cheaper than trying to insert it.
   */
  readsFirst: boolean;
  /** In the current pass: whether any profile was erased after the import's data was read. */
  anyErased: boolean;
  /** In the current pass: the profiles whose public fields changed. */
  changed: Set<number>;
  /** In the current pass: whether anything else was written. */
  hasStamped: boolean;
};
