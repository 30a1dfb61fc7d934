import type { Sqlite, Tx } from '../../db/connect.ts';
import type { ProfileColumns, StoredProfile } from '../field-values.ts';
import type { StoredRow } from '../record.ts';
import type { ProfileLine } from './line.ts';
import type { Clash, Loser, TakenAt } from './name-conflicts.ts';
import type { NewerCheck, Times } from './newer.ts';
import type { NameClaims } from './pending-names.ts';
import type { Refusal } from './refusal.ts';
import type { SizeCheck } from './size-check.ts';
import type { RowWriter } from './write-row.ts';

// A pass is the application of some lines in one transaction.

/** A line that was checked, its number in the file and its length in bytes. */
export type Entry = { number: number; bytes: number; line: ProfileLine };

/** What a pass did. */
export type Applied = {
  /** Lines that went in. */
  imported: number;
  /** Profiles that were erased, those that were not there, and those that lost the address that their line lacks. */
  deleted: number;
  notThere: number;
  unaddressed: number;
  /** Lines that were left out, because their profile was written or erased here after their data was read. */
  newer: number;
  /** The profiles of the first ten of these. */
  newerIds: number[];
};

const MAX_NEWER_IDS = 10;

/** What two passes did, one after the other. */
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

/** What a pass without lines did. */
export const NOTHING_APPLIED: Readonly<Applied> = {
  imported: 0,
  deleted: 0,
  notThere: 0,
  unaddressed: 0,
  newer: 0,
  newerIds: [],
};

/** Counts a line that was left out for what was written or erased here. */
export function countNewer(done: Applied, id: number): void {
  done.newer++;
  if (done.newerIds.length < MAX_NEWER_IDS && !done.newerIds.includes(id)) done.newerIds.push(id);
}

/**
 * What an import does to the keys of profiles and writes to the log, inside its transaction. It is handed in, because this
 * room knows neither (`effectsOnKeys` in shared/erasure).
 */
export type EffectsOnKeys = {
  /** Erases the profile with this id, with everything that belongs to it. Returns whether there was such a profile. */
  erase: (tx: Tx, id: number, nowMs: number) => boolean;
  /** Called once in a transaction that has erased profiles: how many. */
  erased: (tx: Tx, count: number, nowMs: number) => void;
  /** Called where a profile's e-mail address becomes another one, or none; `formerEmail` is the one that it had. */
  readdress: (tx: Tx, change: { profileId: number; formerEmail: string }, nowMs: number) => void;
  /** Called where a profile that is there is banned, or where its ban is lifted. */
  ban: (tx: Tx, change: { profileId: number; isBanned: boolean }, nowMs: number) => void;
  /** Called before a profile is erased: why whoever imports may not do that, or null. Absent where anything may be erased. */
  refuseErasure?: (tx: Tx, id: number, nowMs: number) => Refusal | null;
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
  /** `nowMs`, read inside the transaction, is for `createdAt` and for the history of keys. */
  times: Times;
  /** Whether a line that changes nothing counts as written too, since whoever sends it knows that it is so. */
  confirms: boolean;
  /** Stores which line took which name: a map, or a table where there may be too many for memory. */
  takenAt: TakenAt;
  /** Called for a line that can't be applied; the pass goes on without it. */
  refuse: (loser: Loser) => void;
  /** Called for a line that was applied and clashes; the caller must roll the pass back. */
  clash: (clash: Clash) => void;
};

/** What applying lines works with, prepared once for many passes. */
export type ApplyState = {
  readonly sqlite: Sqlite;
  readonly readRow: (id: number) => StoredRow | null;
  readonly writer: RowWriter;
  readonly claims: NameClaims;
  readonly sizes: SizeCheck;
  readonly newer: NewerCheck;
  /**
   * Whether the next line's row is read before anything is written. Where one profile was in the database already, the next
   * one probably is too, and then reading it first is cheaper than trying to insert it.
   */
  readsFirst: boolean;
  /** In the present pass: whether a profile was erased after the import's data was read. */
  anyErased: boolean;
  /** In the present pass: the profiles that lookups show in another way now. */
  changed: Set<number>;
  /** In the present pass: whether something else was written. */
  hasStamped: boolean;
};
