import { expect, test } from 'bun:test';
import { get, startTestServer, type TestServer } from '../support/http.ts';
import { insertProfile } from '../support/profiles.ts';
import { expectRefusal, giveKeysTo, keyFor } from '../support/requests.ts';

// Stored values that no command writes: written by hand, past the checks, or by a damaged file.

const DAMAGED: [column: string, value: string | number][] = [
  ['customize', '{"a":'],
  ['customize', '{"a":1}}'],
  ['customize', ''],
  ['customize', '{a:1}'],
  ['customize', '{"a":"\u0001"}'],
  ['customize', '{"a":"\0"}'],
  ['badges', '[1,]'],
  ['assets', "{'a':'b'}"],
  ['discord_clean', '{"a":+1}'],
  ['created_at', 8_640_000_000_000_001],
];

/** The ids of the board of {@link world}, in its order. */
const BOARD = [3, 4, 5, 6, 7, 8, 9];

/** A server with a leaderboard: one profile is first, and the others share the second rank. */
async function world() {
  const server = await startTestServer();
  for (const id of BOARD) insertProfile(server.deps.db, { id, viewsCount: id === 3 ? 9 : 5 });
  const { secret } = await keyFor(server.deps, ['1000000/1s']);
  giveKeysTo(server.deps, 9);
  const { $client: sqlite } = server.deps.db;
  const put = (id: number, column: string, value: string | number) => {
    sqlite.run('PRAGMA ignore_check_constraints = ON');
    sqlite.run(`UPDATE profiles SET ${column} = ? WHERE id = ?`, [value, id]);
    sqlite.run('PRAGMA ignore_check_constraints = OFF');
  };
  const lookUp = (path: string) => get(server, `/api/lookup${path}`, secret);
  const entries = async () => {
    const answer = await get(server, '/api/leaderboard', secret);
    expect(answer.status).toBe(200);
    const { leaderboard, total } = (await answer.json()) as {
      leaderboard: { id: number; rank: number }[];
      total: number;
    };
    expect(total).toBe(BOARD.length);
    return leaderboard.map(({ id, rank }): [number, number] => [id, rank]);
  };
  return { server, put, lookUp, entries };
}

const loggedBy = ({ log }: TestServer, message: string) =>
  log.filter((line) => line.message === message && /profile 7 is damaged/.test(String(line.cause))).length;

test.each(DAMAGED)(
  'a profile with %s %p is a 500, is omitted from its page and logged, and all others are still served',
  async (column, value) => {
    const { server, put, lookUp, entries } = await world();
    put(7, column, value);
    for (const path of ['/uid/7', '/username/user7', '?uid=6&uid=7']) {
      const sentence = await expectRefusal(await lookUp(path), 500);
      expect(sentence).toBe('The server failed to answer this request.');
    }
    expect(loggedBy(server, 'A request failed.')).toBe(3);
    for (const path of ['/uid/6', '/uid/7/links', '?uid=6&uid=8']) expect((await lookUp(path)).status).toBe(200);
    expect((await entries()).map(([id]) => id)).toEqual(BOARD.filter((id) => id !== 7));
    expect(loggedBy(server, 'A profile is left out of the leaderboard.')).toBe(1);
  },
);

test('a repaired profile is listed again, and a board of only damaged profiles is empty', async () => {
  const { put, lookUp, entries } = await world();
  for (const id of BOARD) put(id, 'customize', '{');
  expect(await entries()).toEqual([]);
  expect((await lookUp('/uid/7')).status).toBe(500);
  put(7, 'customize', '{}');
  expect(await entries()).toEqual([[7, 2]]);
  expect((await lookUp('/uid/7')).status).toBe(200);
});
