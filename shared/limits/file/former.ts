import type { Sqlite } from '../../db/connect.ts';
import { RATE_LIMIT_BOUNDS } from '../rate-limit.ts';
import { createRing, fitRing, MAX_GROUPS, newestGroup, type Ring, ringLength, usedAt } from '../ring.ts';
import { type LogRow, rowsOf, type SavedAccount } from './row.ts';

// Converts a quota file of an earlier version. That format stored each ring in pages of 64 time stamps, and in a log
// the requests that were spent since a page was written.

type Page = {
  identifier: string;
  windowSeconds: number;
  page: number;
  quota: number;
  head: number;
  /** The time stamps as Float64, in milliseconds. */
  stamps: Uint8Array;
};

type FormerRow = { identifiers: string; numbers: Uint8Array };

/**
 * The part of a ring in one page or log row: the ring's head when the page or row was written, and consecutive time
 * stamps, the first of which belongs at index `first` of the ring.
 */
type Piece = { windowSeconds: number; quota: number; head: number; first: number; times: Float64Array };

const PAGE_STAMPS = 64;

/**
 * Replaces the former tables by the new one and moves every key's state into it. `logTable` is the statement that
 * creates the new table, `insert` adds rows to it. Must be called inside a transaction.
 */
export function convertFormerTables(sqlite: Sqlite, logTable: string, insert: (rows: LogRow[]) => void): void {
  const pages = sqlite
    .query<Page, []>('SELECT identifier, window_seconds AS windowSeconds, page, quota, head, stamps FROM pages')
    .all();
  const log = sqlite.query<FormerRow, []>('SELECT identifiers, numbers FROM log ORDER BY seq').all();
  const time = sqlite.query<{ time: number }, []>('SELECT last_time AS time FROM clock').get()?.time ?? 0;
  const pieces = new Map<string, Piece[]>();
  for (const page of pages) {
    const piece = pieceOfPage(page);
    if (piece !== null) listOf(pieces, page.identifier).push(piece);
  }
  for (const row of log) addPiecesOfRow(row, pieces);
  const accounts = [...pieces].map(([identifier, of]): SavedAccount => {
    const rings = Map.groupBy(of, ({ windowSeconds }) => windowSeconds).values();
    return { identifier, rings: [...rings].map((ofRing) => ringOf(ofRing, time)), former: [], firstRow: 0 };
  });
  for (const table of ['pages', 'log', 'clock']) sqlite.run(`DROP TABLE ${table}`);
  sqlite.run(logTable);
  const entries = accounts.map((account) => ({ account, isWhole: true }));
  insert(rowsOf(entries, 1, time).map(({ row }) => row));
}

function listOf(pieces: Map<string, Piece[]>, identifier: string): Piece[] {
  const list = pieces.get(identifier) ?? [];
  pieces.set(identifier, list);
  return list;
}

/** The part of a ring that a page holds; null if the page is damaged. */
function pieceOfPage({ windowSeconds, page, quota, head, stamps }: Page): Piece | null {
  if (!isPiece(windowSeconds, quota, head) || !(page >= 0) || stamps.length % 8 !== 0) return null;
  return { windowSeconds, quota, head, first: page * PAGE_STAMPS, times: new Float64Array(stamps.slice().buffer) };
}

function isPiece(windowSeconds: number, quota: number, head: number): boolean {
  const { maxWindowSeconds, maxQuota } = RATE_LIMIT_BOUNDS;
  return (
    [windowSeconds, quota, head].every(Number.isSafeInteger) &&
    windowSeconds >= 1 &&
    windowSeconds <= maxWindowSeconds &&
    quota >= 1 &&
    quota <= maxQuota &&
    head >= 0
  );
}

/**
 * Adds the parts of rings in one log row. The numbers of a row are Float64. For each identifier: the number of rings that
 * follow, where 0 means that all earlier parts of this identifier are void. For each ring: window in seconds, quota, head,
 * number of stamps, and the stamps. If a row is damaged, only the part before the damage is read.
 */
function addPiecesOfRow({ identifiers, numbers: bytes }: FormerRow, pieces: Map<string, Piece[]>): void {
  if (identifiers === '' || bytes.length % 8 !== 0) return;
  const numbers = new Float64Array(bytes.slice().buffer);
  let at = 0;
  for (const identifier of identifiers.split(' ')) {
    const rings = numbers[at++] as number;
    if (rings === 0) pieces.delete(identifier);
    for (let ring = 0; ring < rings; ring++) {
      const [windowSeconds = 0, quota = 0, head = 0, count = 0] = numbers.subarray(at, at + 4);
      if (!isPiece(windowSeconds, quota, head) || !(count >= 0 && count <= ringLength(quota))) return;
      at += 4;
      const { groupSize } = createRing({ quota, windowSeconds });
      const first = Math.floor((head - 1) / groupSize) - count + 1;
      listOf(pieces, identifier).push({ windowSeconds, quota, head, first, times: numbers.subarray(at, at + count) });
      at += count;
    }
  }
}

/**
 * Merges the pieces of a ring. If several pieces hold the same index, the piece with the highest head is the newest and
 * wins.
 */
function ringOf(pieces: readonly Piece[], time: number): Ring {
  const { quota, windowSeconds } = pieces.at(-1) as Piece;
  const ring = createRing({ quota, windowSeconds });
  const length = ringLength(quota);
  const times = new Float64Array(MAX_GROUPS);
  for (const piece of pieces.toSorted((one, other) => one.head - other.head)) {
    ring.head = piece.head;
    for (const [index, at] of piece.times.entries()) times[(piece.first + index) % length] = at;
  }
  const newest = newestGroup(ring);
  const timeOf = (group: number) => times[group % length] as number;
  ring.tail = newest + 1;
  while (ring.tail > Math.max(0, newest - length + 1) && time - timeOf(ring.tail - 1) <= ring.windowMs + ring.stepMs)
    ring.tail--;
  fitRing(ring, newest - ring.tail + 1);
  for (let group = ring.tail; group <= newest; group++) {
    ring.newestStep = Math.floor(timeOf(group) / ring.stepMs);
    ring.stamps[group % ring.stamps.length] = ring.newestStep;
  }
  usedAt(ring, time);
  return ring;
}
