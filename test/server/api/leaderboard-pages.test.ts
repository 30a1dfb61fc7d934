import { describe, expect, test } from 'bun:test';
import { LeaderboardPage } from '../../../shared/api/bodies.ts';
import { exportProfile } from '../../../shared/profiles/export.ts';
import { get, startTestServer } from '../../support/http.ts';
import { changeByHand, importLines } from '../../support/import.ts';
import { changeBySql, insertProfile } from '../../support/profiles.ts';
import { giveKeysTo, keyFor } from '../../support/requests.ts';

// Pages as a client sees them: ties across page boundaries, and a board that changes while it is read.

const server = await startTestServer();
const { db } = server.deps;
const { secret } = await keyFor(server.deps, ['1000000/1s'], ['api.leaderboard']);
const lookupKey = await keyFor(server.deps, ['1000000/1s'], ['api.lookup']);

// 100, 90, 90, 90, 80, 80, 70 … 70, 5, 0
const VIEWS = [100, 90, 90, 90, 80, 80, 70, 70, 70, 70, 5, 0];
for (const [index, viewsCount] of VIEWS.entries()) insertProfile(db, { id: index + 1, viewsCount });
giveKeysTo(server.deps, 1);

function setViews(id: number, viewsCount: number): void {
  changeBySql(db, 'UPDATE profiles SET views_count = ? WHERE id = ?', [viewsCount, id]);
  // Servers apply a change within 10 ms.
  server.deps.clock.advance(10);
}

async function page(limit: number, offset: number) {
  const answer = await get(server, `/api/leaderboard?limit=${limit}&offset=${offset}`, secret);
  const { leaderboard, total } = LeaderboardPage.parse(await answer.json());
  return { ranks: leaderboard.map(({ id, rank }) => [id, rank]), total, etag: answer.headers.get('etag') };
}

describe('ranks', () => {
  const wanted = [1, 2, 2, 2, 5, 5, 7, 7, 7, 7, 11, 12].map((rank, index) => [index + 1, rank]);

  for (let limit = 1; limit <= VIEWS.length; limit++) {
    test(`are those of the whole board on pages of ${limit}, wherever a page begins`, async () => {
      for (let offset = 0; offset < VIEWS.length; offset++) {
        expect((await page(limit, offset)).ranks).toEqual(wanted.slice(offset, offset + limit));
      }
    });
  }
});

describe('a board that changes between two pages', () => {
  test('returns each page from one state of the board, including ranks and total', async () => {
    const first = await page(4, 0);
    expect(first.ranks.map(([id]) => id)).toEqual([1, 2, 3, 4]);
    // The last profile overtakes all others: the last entry of the first page becomes the first of the second.
    setViews(12, 500);
    const second = await page(4, 4);
    expect(second.ranks).toEqual([
      [4, 3],
      [5, 6],
      [6, 6],
      [7, 8],
    ]);
    expect((await page(4, 0)).ranks).toEqual([
      [12, 1],
      [1, 2],
      [2, 3],
      [3, 3],
    ]);
    setViews(12, 0);
    expect((await page(4, 0)).etag).toBe(first.etag);
  });

  test('has a new tag exactly if the page or its total has changed', async () => {
    const [head, tail] = [await page(4, 0), await page(4, 8)];
    setViews(12, 1);
    expect((await page(4, 0)).etag).toBe(head.etag);
    expect((await page(4, 8)).etag).not.toBe(tail.etag);
    insertProfile(db, { id: 13, viewsCount: 0 });
    const longer = await page(4, 0);
    expect([longer.ranks, longer.total]).toEqual([head.ranks, 13]);
    expect(longer.etag).not.toBe(head.etag);
    changeBySql(db, 'DELETE FROM profile_names WHERE profile_id = 13');
    changeBySql(db, 'DELETE FROM profiles WHERE id = 13');
    setViews(12, 0);
  });

  test('omits banned profiles, and ranks the others without them', async () => {
    changeBySql(db, 'UPDATE profiles SET banned = 1 WHERE id = 2');
    const { ranks, total } = await page(5, 0);
    expect([ranks, total]).toEqual([
      [
        [1, 1],
        [3, 2],
        [4, 2],
        [5, 4],
        [6, 4],
      ],
      11,
    ]);
    changeBySql(db, 'UPDATE profiles SET banned = 0 WHERE id = 2');
  });
});

describe('a profile that does not want to be listed', () => {
  const { deps } = server;
  const PATHS = ['username/user2', 'uid/2', 'uid/2/links', 'username/user2/links'].map((path) => `/api/lookup/${path}`);
  const WAYS: Record<string, (showOnLeaderboard: boolean) => unknown> = {
    'profiles set': (showOnLeaderboard) => changeByHand(deps, 'user2', () => ({ showOnLeaderboard })),
    'an import that merges': (showOnLeaderboard) => importLines(deps, [{ id: 2, showOnLeaderboard }], { merge: true }),
    'an import that replaces, in which only false is written': async (showOnLeaderboard) => {
      const { showOnLeaderboard: _, ...line } = JSON.parse(exportProfile(db, { uid: 2 }));
      await importLines(deps, [showOnLeaderboard ? line : { ...line, showOnLeaderboard }]);
    },
  };

  /** The responses of lookups of profile 2: status, body, and the headers that don't differ between any two responses. */
  async function lookups(): Promise<string> {
    const answers = await Promise.all(
      PATHS.map(async (path) => {
        const answer = await get(server, path, lookupKey.secret);
        const headers = [...answer.headers].filter(([name]) => !/^(x-request-id|ratelimit|date$)/.test(name));
        return [path, answer.status, await answer.text(), headers];
      }),
    );
    return JSON.stringify(answers);
  }

  test.each(Object.entries(WAYS))(
    'is left out before ranking, and listed again, by %s; the bytes of lookups stay the same',
    async (_, set) => {
      const [board, said] = [await page(5, 0), await lookups()];
      expect(said).toContain('"username\\":\\"user2');
      await set(false);
      // Running servers apply what a transaction has changed 10 ms after its commit.
      await Bun.sleep(10);
      expect(await page(5, 0)).toMatchObject({
        ranks: [
          [1, 1],
          [3, 2],
          [4, 2],
          [5, 4],
          [6, 4],
        ],
        total: 11,
      });
      expect(await lookups()).toBe(said);
      await set(true);
      await Bun.sleep(10);
      expect(await page(5, 0)).toEqual(board);
      expect(await lookups()).toBe(said);
    },
  );
});

test('HEAD and 304 responses have the links to the next and previous page too', async () => {
  const link =
    '<http://127.0.0.1:3000/api/leaderboard?limit=5&offset=9>; rel="next", <http://127.0.0.1:3000/api/leaderboard?limit=5&offset=0>; rel="prev"';
  for (const init of [{}, { method: 'HEAD' }, { headers: { 'If-None-Match': '*' } }]) {
    const answer = await get(server, '/api/leaderboard?limit=5&offset=4', secret, init);
    expect([answer.status, answer.headers.get('link')]).toEqual([init.headers ? 304 : 200, link]);
  }
});
