import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { BOARD_SIZE } from '../../../../shared/profiles/leaderboard/board-bounds.ts';
import { BLOCK } from '../../../../shared/profiles/leaderboard/board-page.ts';
import {
  type BoardPage,
  boardIn,
  type Order,
  READ_ORDER,
} from '../../../../shared/profiles/leaderboard/leaderboard.ts';
import type { CachedProfile } from '../../../../shared/profiles/lookup/cache.ts';
import { insertProfile } from '../../../support/profiles.ts';
import { readingOf } from '../../../support/reading.ts';
import { rounds } from '../../../support/rounds.ts';
import { testDeps } from '../../../support/world.ts';

type Board = { leaderboard: { rank: number; id: number; viewsCount: number }[]; total: number };

const bodyOfPage = ({ body }: BoardPage) => body;

function boardOf(views: readonly number[], bannedIds: readonly number[] = []) {
  const deps = testDeps();
  const { db } = deps;
  db.transaction(() => {
    for (const [index, viewsCount] of views.entries()) {
      insertProfile(db, { id: index + 1, viewsCount, banned: bannedIds.includes(index + 1) });
    }
  });
  const { leaderboard: read } = readingOf(deps);
  return {
    db,
    read: (limit: number, offset: number): Board => JSON.parse(bodyOfPage(read(limit, offset)).toString()),
  };
}

const ranksOf = ({ leaderboard }: Board) => leaderboard.map(({ id, rank }) => [id, rank]);

describe('ranks', () => {
  test('are shared by profiles with equal views, and the next rank follows the position: 1, 2, 2, 4', () => {
    const { read } = boardOf([30, 20, 20, 10, 40], [5]);
    expect(ranksOf(read(10, 0))).toEqual([
      [1, 1],
      [2, 2],
      [3, 2],
      [4, 4],
    ]);
    expect(read(10, 0).total).toBe(4);
  });

  test('are the same on all pages', () => {
    const { db, read } = boardOf([]);
    let next = 0;
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 25 }),
        fc.integer({ min: 1, max: 7 }),
        (views, limit) => {
          db.$client.run('DELETE FROM profiles');
          const first = ++next * 1_000;
          for (const [index, viewsCount] of views.entries()) insertProfile(db, { id: first + index, viewsCount });
          const wanted = views
            .map((count, index) => ({ id: first + index, count }))
            .sort((a, b) => b.count - a.count || a.id - b.id)
            .map(({ id, count }) => [id, 1 + views.filter((other) => other > count).length]);
          const shown: number[][] = [];
          for (let offset = 0; offset < views.length; offset += limit) shown.push(...ranksOf(read(limit, offset)));
          expect(shown).toEqual(wanted);
        },
      ),
      { numRuns: rounds(40) },
    );
  });
});

describe('a page', () => {
  const SIZE = 300;
  const order: Order = Array.from({ length: SIZE }, (_, index) => [index + 1, SIZE - index]);
  const bodyAt = (id: number) => `{"id":${id},"displayName":"${'★ü'.repeat(id % 9)}"}`;
  const shown = (body: (id: number) => string) => (id: number) => ({ body: body(id) }) as CachedProfile;
  const { page: board } = boardIn(order, shown(bodyAt));
  const entries = order.map(([id], index) => `{"rank":${index + 1},${bodyAt(id).slice(1)}`);
  const page = fc.record({ limit: fc.integer({ min: 1, max: 100 }), offset: fc.nat(SIZE + 20) });

  test('has exactly its entries, wherever it begins', () => {
    fc.assert(
      fc.property(page, ({ limit, offset }) => {
        const wanted = entries.slice(offset, offset + limit).join(',');
        expect(bodyOfPage(board(limit, offset)).toString()).toBe(
          `{"leaderboard":[${wanted}],"limit":${limit},"offset":${offset},"total":${SIZE}}`,
        );
      }),
      { numRuns: rounds(300) },
    );
  });

  test('leaves out profiles that can’t be read, even a whole block of them, and the others keep their ranks and positions', () => {
    const some = fc.uniqueArray(fc.nat(SIZE - 1));
    const first = fc.integer({ min: 1, max: SIZE }).map((count) => Array.from({ length: count }, (_, at) => at));
    const block: number[] = Array.from({ length: BLOCK }, (_, at) => at);
    fc.assert(
      fc.property(page, fc.oneof(some, first), ({ limit, offset }, left) => {
        const { page: board } = boardIn(order, (id) => (left.includes(id - 1) ? null : shown(bodyAt)(id)));
        const there = entries.map((entry, at) => (left.includes(at) ? [] : [entry]));
        const wanted = there
          .slice(offset, offset + limit)
          .flat()
          .join(',');
        expect(bodyOfPage(board(limit, offset)).toString()).toBe(
          `{"leaderboard":[${wanted}],"limit":${limit},"offset":${offset},"total":${SIZE}}`,
        );
      }),
      { numRuns: rounds(300), examples: [[{ limit: 100, offset: 0 }, block]] },
    );
  });
});

describe('the end of the board', () => {
  test('is the 10 000th profile, even if further ones have as many views', () => {
    const { db, read } = boardOf([]);
    db.$client.run(`
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${BOARD_SIZE + 500})
      INSERT INTO profiles (id, username, display_name, badges, assets, customize, discord_clean, banned, views_count,
          followers_count, show_followers_count, created_at)
        SELECT i, 'u' || i, 'u', '[]', '{}', '{}', '{}', 0, max(0, 9990 - i), 0, 1, 0 FROM n`);
    const last = read(100, 9_950);
    expect(last.total).toBe(BOARD_SIZE);
    expect(last.leaderboard.length).toBe(50);
    expect(last.leaderboard.at(-1)).toMatchObject({ id: 10_000, viewsCount: 0, rank: 9_990 });
    expect(last.leaderboard[0]).toMatchObject({ id: 9_951, rank: 9_951 });
    expect(ranksOf(read(2, 9_999))).toEqual([[10_000, 9_990]]);
  });

  test('is the 10 000th listed profile, found from the index alone', () => {
    const { db, read } = boardOf([]);
    db.$client.run(`
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${BOARD_SIZE + 500})
      INSERT INTO profiles (id, username, display_name, badges, assets, customize, discord_clean, banned, views_count,
          followers_count, show_followers_count, show_on_leaderboard, created_at)
        SELECT i, 'u' || i, 'u', '[]', '{}', '{}', '{}', 0, 90000 - i, 0, 1, i % 100 <> 0, 0 FROM n`);
    expect(read(1, 9_999)).toMatchObject({ leaderboard: [{ id: 10_101, rank: 10_000 }], total: BOARD_SIZE });
    const plan = db.$client.query(`EXPLAIN QUERY PLAN ${READ_ORDER}`).all(1) as { detail: string }[];
    expect(plan.map(({ detail }) => detail)).toEqual(['SCAN profiles USING COVERING INDEX profiles_board']);
  });

  test('an empty board', () => {
    const { read } = boardOf([5], [1]);
    expect(read(50, 0)).toEqual({ leaderboard: [], limit: 50, offset: 0, total: 0 } as Board & { limit: number });
  });
});
