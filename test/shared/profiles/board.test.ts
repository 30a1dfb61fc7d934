import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { BOARD_SIZE, READ_ORDER } from '../../../shared/profiles/board.ts';
import { changeByHand, eraseProfile, insertProfile } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { readingOf } from '../../support/storage.ts';
import { onBox, testDeps } from '../../support/world.ts';

type Board = { leaderboard: { rank: number; id: number; viewsCount: number }[]; total: number };

function boardOf(views: readonly number[] = [], bannedIds: readonly number[] = []) {
  const deps = testDeps();
  const { db } = deps;
  db.transaction(() => {
    for (const [index, viewsCount] of views.entries()) {
      insertProfile(db, { id: index + 1, viewsCount, banned: bannedIds.includes(index + 1) });
    }
  });
  const { leaderboard } = readingOf(deps);
  const read = (limit = 10, offset = 0): Board => JSON.parse(leaderboard(limit, offset).body);
  return { deps, db, leaderboard, read };
}

/** Inserts so many profiles with the views, and the flag of being listed, that these expressions of `i` give. */
function fill(db: ReturnType<typeof boardOf>['db'], count: number, views: string, isListed = '1') {
  db.$client.run(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO profiles (id, revision, written_at, followers_count, show_followers_count, show_on_leaderboard, links, profile)
       SELECT i, 1, 0, 0, 1, ${isListed}, '{"links":[]}',
         json_object('id', i, 'username', 'u' || i, 'banned', json('false'), 'viewsCount', ${views}) FROM n`,
  );
}

const ranksOf = ({ leaderboard }: Board) => leaderboard.map(({ id, rank }) => [id, rank]);

describe('ranks', () => {
  test('are shared by profiles with equal views, and the next rank follows the position: 1, 2, 2, 4', () => {
    const { read } = boardOf([30, 20.5, 20.5, 10, 40], [5]);
    expect(ranksOf(read())).toEqual([
      [1, 1],
      [2, 2],
      [3, 2],
      [4, 4],
    ]);
    expect(read().total).toBe(4);
  });

  test('are the same on all pages', () => {
    const views = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 25 });
    fc.assert(
      fc.property(views, fc.integer({ min: 1, max: 7 }), (counts, limit) => {
        const { db, read } = boardOf(counts);
        const wanted = counts
          .map((count, index) => ({ id: index + 1, count }))
          .sort((a, b) => b.count - a.count || a.id - b.id)
          .map(({ id, count }) => [id, 1 + counts.filter((other) => other > count).length]);
        const shown: number[][] = [];
        for (let offset = 0; offset < counts.length; offset += limit) shown.push(...ranksOf(read(limit, offset)));
        expect(shown).toEqual(wanted);
        db.$client.close();
      }),
      { numRuns: rounds(3) },
    );
  });
});

describe('the end of the board', () => {
  test('is the 10 000th profile, even if further ones have as many views', () => {
    const { db, read } = boardOf();
    fill(db, BOARD_SIZE + 500, 'max(0, 9990 - i)');
    const last = read(100, 9_950);
    expect([last.total, last.leaderboard.length]).toEqual([BOARD_SIZE, 50]);
    expect(last.leaderboard[0]).toMatchObject({ id: 9_951, rank: 9_951 });
    expect(last.leaderboard.at(-1)).toMatchObject({ id: 10_000, viewsCount: 0, rank: 9_990 });
    expect(ranksOf(read(2, 9_999))).toEqual([[10_000, 9_990]]);
  });

  test('is the 10 000th listed profile, found in the index', () => {
    const { db, read } = boardOf();
    fill(db, BOARD_SIZE + 500, '90000 - i', 'i % 100 <> 0');
    expect(read(1, 9_999)).toMatchObject({ leaderboard: [{ id: 10_101, rank: 10_000 }], total: BOARD_SIZE });
    const plan = db.$client.query(`EXPLAIN QUERY PLAN ${READ_ORDER}`).all() as { detail: string }[];
    expect(plan.map(({ detail }) => detail)).toEqual([expect.stringMatching(/^SCAN profiles USING .*profiles_board$/)]);
  });

  test('an empty board, and a page behind the end, are empty', () => {
    expect(boardOf([5], [1]).read(50, 0)).toMatchObject({ leaderboard: [], total: 0 });
    expect(boardOf([5]).read(50, 7)).toMatchObject({ leaderboard: [], total: 1 });
  });
});

test('a page ends before 1 MiB, and says where the next one begins', () => {
  const { db, leaderboard } = boardOf();
  const assets = { a: 'x'.repeat(60_000) };
  for (let id = 1; id <= 40; id++) insertProfile(db, { id, viewsCount: 100 - id, assets });
  const seen: number[] = [];
  for (let at = 0; at < 40; ) {
    const { body, next, total } = leaderboard(100, at);
    expect([Buffer.byteLength(body) <= 1_048_576, total, next > at]).toEqual([true, 40, true]);
    seen.push(...(JSON.parse(body) as Board).leaderboard.map(({ id }) => id));
    at = next;
  }
  expect(seen).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
});

describe('after a commit', () => {
  const CHANGES: [what: string, change: (world: ReturnType<typeof boardOf>) => void, order: number[]][] = [
    ['a profile of the page has other views', ({ deps }) => changeByHand(deps, 'user2', { viewsCount: 99 }), [2, 1, 3]],
    ['a profile comes onto the page', ({ deps }) => changeByHand(deps, 'user4', { viewsCount: 35 }), [1, 4, 2]],
    ['a profile of the page is banned', ({ deps }) => changeByHand(deps, 'user2', { banned: true }), [1, 3, 4]],
    ['a profile leaves', ({ deps }) => changeByHand(deps, 'user2', { showOnLeaderboard: false }), [1, 3, 4]],
    ['a profile is erased', ({ deps }) => void eraseProfile(deps, 'user2', onBox('operator')), [1, 3, 4]],
  ];
  test.each(CHANGES)('the page shows at once that %s', (_what, change, order) => {
    const world = boardOf([40, 30, 20, 10]);
    expect(world.read(3).leaderboard.map(({ id }) => id)).toEqual([1, 2, 3]);
    change(world);
    expect(world.read(3).leaderboard.map(({ id }) => id)).toEqual(order);
  });
});
