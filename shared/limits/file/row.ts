import type { Account } from '../account.ts';
import { createRing, fitRing, newestGroup, type Ring } from '../ring.ts';

// The rows of the quota file's log. A row has entries of up to 100 accounts. A whole entry has all of an account and replaces
// every entry before it; any other entry has the requests since the previous one.

/** The saved part of an account; `former` is empty if `rings` contains all rings. */
export type SavedAccount = Pick<Account, 'identifier' | 'rings' | 'former' | 'firstRow'>;

/** A row of the log table. */
export type LogRow = {
  /** The number of the row, in the order of writing. */
  seq: number;
  /** When the row was written (`time.ts`); no request in it is newer. */
  time: number;
  /** The identifiers of its accounts, separated by spaces. */
  identifiers: string;
  /**
   * Float64 in this machine's byte order. For each identifier the number of rings, negative in a whole entry; for each ring its
   * window in seconds, capacity, head, tail, newest step and number of stamps.
   */
  numbers: Uint8Array;
  /** Uint32: for each ring, the stamps of its newest groups, oldest first. */
  stamps: Uint8Array;
  /** CRC-32 of all other columns. */
  checksum: number;
};

/** An account to write: all of it, or only the requests after `savedHead` of its rings. */
export type Entry = { account: SavedAccount; isWhole: boolean };

/** A row with its entries and the size of each. */
export type WrittenRow = { row: LogRow; entries: (Entry & { bytes: number })[] };

const ENTRIES_PER_ROW = 100;

/** Makes rows of these entries, numbered from `seq` on: at least one, even without entries. */
export function rowsOf(entries: readonly Entry[], seq: number, time: number): WrittenRow[] {
  const rows: WrittenRow[] = [];
  for (let at = 0; at === 0 || at < entries.length; at += ENTRIES_PER_ROW) {
    rows.push(rowOf(entries.slice(at, at + ENTRIES_PER_ROW), seq + rows.length, time));
  }
  return rows;
}

function rowOf(entries: readonly Entry[], seq: number, time: number): WrittenRow {
  const numbers: number[] = [];
  const stamps: number[] = [];
  const written = entries.map((entry) => {
    const before = 8 * numbers.length + 4 * stamps.length;
    addEntry(entry, numbers, stamps);
    const bytes = 8 * numbers.length + 4 * stamps.length - before + entry.account.identifier.length;
    return { ...entry, bytes };
  });
  const row: LogRow = {
    seq,
    time,
    identifiers: entries.map(({ account }) => account.identifier).join(' '),
    numbers: new Uint8Array(Float64Array.from(numbers).buffer),
    stamps: new Uint8Array(Uint32Array.from(stamps).buffer),
    checksum: 0,
  };
  row.checksum = checksumOf(row);
  return { row, entries: written };
}

function checksumOf({ seq, time, identifiers, numbers, stamps }: LogRow): number {
  const { crc32 } = Bun.hash;
  return crc32(stamps, crc32(numbers, crc32(`${seq} ${time} ${identifiers}`)));
}

function addEntry({ account, isWhole }: Entry, numbers: number[], stamps: number[]): void {
  // Former limits don't change, so they are only in whole entries.
  const rings = isWhole ? [...account.rings, ...account.former] : account.rings;
  numbers.push(isWhole ? -rings.length : rings.length);
  for (const ring of rings) {
    const newest = newestGroup(ring);
    // The group that contains the saved head may have received requests since.
    const first = isWhole ? ring.tail : Math.max(ring.tail, Math.floor(ring.savedHead / ring.groupSize));
    const count = Math.max(0, newest - first + 1);
    numbers.push(ring.windowMs / 1000, ring.capacity, ring.head, ring.tail, ring.newestStep, count);
    for (let group = first; group <= newest; group++) stamps.push(ring.stamps[group % ring.stamps.length] as number);
  }
}

/** Whether the row's checksum is right. */
export function isIntact(row: LogRow): boolean {
  return row.checksum === checksumOf(row);
}

/** Applies a row to `accounts`, the state after the rows before it; with `only`, just the entry of that key. Skips a damaged row. */
export function readRow(row: LogRow, accounts: Map<string, SavedAccount>, only?: string): void {
  if (!isIntact(row)) return;
  for (const { identifier, isWhole, rings } of entriesOf(row)) {
    if (only !== undefined && identifier !== only) continue;
    const known = isWhole ? undefined : accounts.get(identifier);
    const restored: Ring[] = [...(known?.rings ?? [])];
    for (const saved of rings) {
      const at = restored.findIndex(({ windowMs }) => windowMs === saved.windowSeconds * 1000);
      const former = restored[at];
      const continuation = former !== undefined && former.capacity === saved.capacity && former.head <= saved.head;
      const ring = continuation ? former : createRing({ quota: saved.capacity, windowSeconds: saved.windowSeconds });
      addStamps(ring, saved);
      if (at === -1) restored.push(ring);
      else restored[at] = ring;
    }
    accounts.set(identifier, { identifier, rings: restored, former: [], firstRow: known?.firstRow ?? row.seq });
  }
}

type SavedRing = {
  windowSeconds: number;
  capacity: number;
  head: number;
  tail: number;
  newestStep: number;
  stamps: Uint32Array;
};

/** Adds the newest groups of a saved ring to `ring`, which has the groups before those. */
function addStamps(ring: Ring, { head, tail, newestStep, stamps }: SavedRing): void {
  const newest = Math.floor((head - 1) / ring.groupSize);
  const first = newest - stamps.length + 1;
  // If a damaged row was skipped, its groups get the stamp of the oldest known group, so that they expire late rather than early.
  const firstMissing = newestGroup(ring) + 1;
  ring.tail = tail;
  if (newest - tail + 1 > ring.stamps.length) fitRing(ring, newest - tail + 1);
  for (let group = Math.max(tail, Math.min(first, firstMissing)); group <= newest; group++) {
    ring.stamps[group % ring.stamps.length] = stamps[Math.max(0, group - first)] ?? newestStep;
  }
  ring.head = head;
  ring.newestStep = newestStep;
  ring.savedHead = head;
}

type SavedEntry = { identifier: string; isWhole: boolean; rings: SavedRing[] };

function entriesOf({ identifiers, numbers: numberBytes, stamps: stampBytes }: LogRow): SavedEntry[] {
  const numbers = new Float64Array(numberBytes.slice().buffer);
  const stamps = new Uint32Array(stampBytes.slice().buffer);
  let at = 0;
  let stampsAt = 0;
  const next = () => numbers[at++] as number;
  return (identifiers === '' ? [] : identifiers.split(' ')).map((identifier) => {
    const sign = next();
    const rings = Array.from({ length: Math.abs(sign) }, () => {
      const ring = { windowSeconds: next(), capacity: next(), head: next(), tail: next(), newestStep: next() };
      const start = stampsAt;
      stampsAt += next();
      return { ...ring, stamps: stamps.subarray(start, stampsAt) };
    });
    return { identifier, isWhole: sign < 0, rings };
  });
}
