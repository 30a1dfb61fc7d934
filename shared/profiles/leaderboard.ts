import { type Db, guardDatabase } from '../db/open.ts';
import { leaderboardEntry, PUBLIC_COLUMNS, type PublicRow } from './public.ts';

/** How many profiles the board has at most. */
export const BOARD_SIZE = 10_000;

/** The bounds of a page: `limit` entries after the first `offset`. */
export const PAGE_BOUNDS = { minLimit: 1, maxLimit: 100, defaultLimit: 50, maxOffset: 9_999 } as const;

/** One page of the board. */
export type BoardPage = {
  /** `{"leaderboard":[…],"limit","offset","total"}` as JSON text. */
  body: string;
  /** How many profiles the board has: at most {@link BOARD_SIZE}. */
  total: number;
};

/** Reads pages of the leaderboard, statements prepared once. Throws `busy` where the database is locked. */
export type Leaderboard = (limit: number, offset: number) => BoardPage;

/**
 * Prepares the leaderboard: the top profiles by viewsCount, then id, without banned ones. Ranks are competition ranks
 * over the whole board (1, 2, 2, 4), so a profile has the same one on whatever page it is shown; each page is read in
 * one transaction.
 */
export function prepareLeaderboard(db: Db): Leaderboard {
  const { $client: sqlite } = db;
  // The index profiles_board answers these two alone, without touching a profile's row.
  const boardSize = sqlite.prepare<{ total: number }, [number]>(
    'SELECT count(*) AS total FROM (SELECT 1 FROM profiles WHERE banned = 0 LIMIT ?)',
  );
  const countAbove = sqlite.prepare<{ above: number }, [number]>(
    'SELECT count(*) AS above FROM profiles WHERE banned = 0 AND views_count > ?',
  );
  // The page's ids come from the index, so that skipping to a far offset reads no rows.
  const pageRows = sqlite.prepare<PublicRow, [number, number]>(
    `SELECT ${PUBLIC_COLUMNS} FROM profiles WHERE id IN
      (SELECT id FROM profiles WHERE banned = 0 ORDER BY views_count DESC, id LIMIT ? OFFSET ?)
    ORDER BY views_count DESC, id`,
  );
  const readPage = sqlite.transaction((limit: number, offset: number): BoardPage => {
    const { total } = boardSize.get(BOARD_SIZE) ?? { total: 0 };
    const rows = pageRows.all(Math.max(0, Math.min(limit, total - offset)), offset);
    const above = rows[0] === undefined ? 0 : (countAbove.get(rows[0].viewsCount)?.above ?? 0);
    return boardPage(rows, above, { limit, offset, total });
  });
  return (limit, offset) => guardDatabase(sqlite.filename, () => readPage(limit, offset));
}

/**
 * Puts a page together: its rows in the board's order, and how many profiles of the whole board have more views than its
 * first. Ranks are competition ranks (1, 2, 2, 4).
 */
export function boardPage(
  rows: readonly PublicRow[],
  above: number,
  { limit, offset, total }: { limit: number; offset: number; total: number },
): BoardPage {
  let rank = above + 1;
  const entries = rows.map((row, index) => {
    const before = rows[index - 1];
    if (before !== undefined && row.viewsCount < before.viewsCount) rank = offset + index + 1;
    return leaderboardEntry(rank, row);
  });
  const body = `{"leaderboard":[${entries.join(',')}],"limit":${limit},"offset":${offset},"total":${total}}`;
  return { body, total };
}
