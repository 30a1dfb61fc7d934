import { expect, test } from 'bun:test';
import { get } from '../support/http.ts';
import { keyFor } from '../support/keys.ts';
import { startServerProcess } from '../support/machine.ts';
import { importLines } from '../support/profiles.ts';
import { rounds } from '../support/rounds.ts';
import { testDeps } from '../support/world.ts';

// What this process commits, a serving process must show.

const PROFILES = 20;
/** Half by an operator's own SQL, half by imports, which pause between batches. */
const COMMITS = 2 * rounds(25);

/** A request that begins at least this long after a commit sees it. */
const BOUND_MS = 10;

type Commit = { value: number; atMs: number };

/** The oldest value that a request may see: the last one committed at least {@link BOUND_MS} before it began. */
function minOf(commits: readonly Commit[], begunAtMs: number): number {
  return commits.findLast(({ atMs }) => atMs <= begunAtMs - BOUND_MS)?.value ?? 0;
}

test('no lookup and no leaderboard is older than 10 ms, whatever is written concurrently', async () => {
  const deps = testDeps();
  const { secret } = await keyFor(deps, ['1000000/1s']);
  const ids = Array.from({ length: PROFILES }, (_, index) => index + 1);
  const version = (id: number, value: number) => ({
    id,
    username: `name${id}`,
    viewsCount: value,
    links: [{ id: 'l', name: `${value}`, link: 'https://x' }],
  });
  await importLines(
    deps,
    ids.map((id) => version(id, 0)),
  );
  const server = await startServerProcess({ DATABASE_PATH: deps.config.databasePath });
  const commits = new Map<number, Commit[]>(ids.map((id) => [id, []]));
  const highest: Commit[] = [];
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
  const change = deps.db.$client.prepare(
    `UPDATE profiles SET profile = json_set(profile, '$.viewsCount', ?1),
      links = json_set(links, '$.links[0].name', cast(?1 AS TEXT)) WHERE id = ?2`,
  );
  for (let value = 1; value <= COMMITS; value++) {
    const id = ids[value % PROFILES] as number;
    if (value > COMMITS / 2) await importLines(deps, [version(id, value)]);
    else change.run(value, id);
    const commit = { value, atMs: performance.now() };
    commits.get(id)?.push(commit);
    highest.push(commit);
    await Bun.sleep(5);
  }
  isDone = true;
  await readers;
  expect(checked).toBeGreaterThan(20);
}, 60_000);
