import { expect, test } from 'bun:test';
import { get } from '../support/http.ts';
import { importLines } from '../support/import.ts';
import { startServerProcess } from '../support/machine/server-process.ts';
import { keyFor } from '../support/requests.ts';
import { rounds } from '../support/rounds.ts';
import { testDeps } from '../support/world.ts';

// A serving process caches what it has read, but must show what this process commits.

const PROFILES = 20;
/** Half by an operator's own SQL, half by imports. */
const COMMITS = 2 * rounds(100);

const createdAt = '2024-05-01T00:00:00.000Z';

/** A request that begins at least this long after a commit sees it. */
const BOUND_MS = 10;

type Commit = { value: number; atMs: number };

/** The oldest value that a request may see: the last one committed at least {@link BOUND_MS} before it began. */
function minOf(commits: readonly Commit[], begunAtMs: number): number {
  return commits.findLast(({ atMs }) => atMs <= begunAtMs - BOUND_MS)?.value ?? 0;
}

test('no response is older than 10 ms, whatever is written concurrently', async () => {
  const deps = testDeps();
  // An operator's own SQL waits for the disk, so that it takes longer than the server's own write below.
  deps.db.$client.run('PRAGMA synchronous = FULL');
  const { secret } = await keyFor(deps, ['1000000/1s']);
  const ids = Array.from({ length: PROFILES }, (_, index) => index + 1);
  const version = (id: number, value: number) => ({
    id,
    username: `name${id}`,
    viewsCount: value,
    createdAt,
    links: [{ id: 'l', name: `${value}`, link: 'https://x' }],
  });
  await importLines(
    deps,
    ids.map((id) => version(id, 0)),
  );
  const server = await startServerProcess({ DATABASE_PATH: deps.config.databasePath });

  const commits = new Map<number, Commit[]>(ids.map((id) => [id, []]));
  const highest: Commit[] = [];
  const top = async () => {
    const answer = await get(server, '/api/leaderboard?limit=1', secret);
    return ((await answer.json()) as { leaderboard: [{ viewsCount: number }] }).leaderboard[0].viewsCount;
  };
  // The server stores how often keys were used soon after the first request, and then every nine seconds. An operator's own
  // SQL writes no note of what it changed, so a change at the same moment as one of these, or as an import, is seen later.
  await top();
  const isStored = deps.db.$client.prepare('SELECT 1 FROM key_usage');
  while (isStored.get() === null) await Bun.sleep(5);
  const ownSqlUntilMs = performance.now() + 8_000;

  let isDone = false;
  let checked = 0;

  async function read(): Promise<void> {
    for (let turn = 0; !isDone; turn++) {
      const id = ids[(turn * 7) % PROFILES] as number;
      const begunAtMs = performance.now();
      const [profile, links, board] = (await Promise.all(
        [`/api/lookup/username/NAME${id}`, `/api/lookup/uid/${id}/links`, '/api/leaderboard?limit=1'].map(
          async (path) => (await get(server, path, secret)).json(),
        ),
      )) as [{ viewsCount: number }, { links: { name: string }[] }, { leaderboard: { viewsCount: number }[] }];
      const min = minOf(commits.get(id) as Commit[], begunAtMs);
      expect(profile.viewsCount).toBeGreaterThanOrEqual(min);
      expect(Number(links.links[0]?.name)).toBeGreaterThanOrEqual(min);
      expect(board.leaderboard[0]?.viewsCount).toBeGreaterThanOrEqual(minOf(highest, begunAtMs));
      checked++;
    }
  }

  const readers = Promise.all(Array.from({ length: 3 }, read));
  let isByImport = false;
  for (let value = 1; value <= COMMITS; value++) {
    const id = ids[value % PROFILES] as number;
    if (!isByImport && (value > COMMITS / 2 || performance.now() > ownSqlUntilMs)) {
      isByImport = true;
      while ((await top()) < value - 1);
    }
    if (isByImport) await importLines(deps, [version(id, value)]);
    else {
      deps.db.$client.transaction(() => {
        deps.db.$client.run('UPDATE profiles SET views_count = ? WHERE id = ?', [value, id]);
        deps.db.$client.run('UPDATE links SET name = ? WHERE profile_id = ?', [`${value}`, id]);
      })();
    }
    const commit = { value, atMs: performance.now() };
    commits.get(id)?.push(commit);
    highest.push(commit);
    await new Promise((resolve) => setImmediate(resolve));
  }
  isDone = true;
  await readers;
  expect(checked).toBeGreaterThan(20);
}, 60_000);
