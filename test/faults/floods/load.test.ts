import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { cleanEnvironment, profilectl, profilectlWords } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { keyFor } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine.ts';
import { importLines } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { testDeps } from '../../support/world.ts';
import { expectSound } from '../machine.ts';

// A server process under load while other processes work on its database.

/** Several batches of an import. */
const PROFILES = 1_000;

/** Imports follow each other until the server has given so many answers beside them. */
const ANSWERS = 100 * rounds(1);

/** The pause between exports and between VACUUMs, in which the imports get the lock on a slow machine, too. */
const PAUSE_MS = 1_000;

/** The pause between a client's requests, because what is tried is the order of commits and not the greatest load. */
const CLIENT_PAUSE_MS = 10;

/** A profile as imported by this version; every field shows the version. */
function profile(id: number, version: number) {
  return {
    id,
    username: `name${id}`,
    displayName: `Version ${version} of ${id}`,
    customize: { version, filler: 'x'.repeat(200) },
    viewsCount: version * PROFILES + id,
    createdAt: '2024-05-01T00:00:00.000Z',
    links: Array.from({ length: version }, (_, index) => ({ id: `l${index}`, name: `v${version}`, link: 'https://x' })),
  };
}

/** The version of a response, which must belong to that version as a whole. */
function versionOf(id: number, path: string, body: string): number {
  const answer = JSON.parse(body);
  if (path.endsWith('/links')) {
    const version = answer.links.length;
    expect(answer).toEqual({ links: profile(id, version).links });
    return version;
  }
  const { version } = answer.customize;
  const { displayName, customize, viewsCount } = profile(id, version);
  expect(answer).toMatchObject({ id, username: `name${id}`, displayName, customize, viewsCount });
  return version;
}

test('while an import, an export and a VACUUM run, each response is one consistent version or a 503', async () => {
  const deps = testDeps();
  const { databasePath } = deps.config;
  const { secret } = await keyFor(deps, ['1000000/1s']);
  await importLines(
    deps,
    Array.from({ length: PROFILES }, (_, index) => profile(index + 1, 1)),
  );
  const server = await startServerProcess({ DATABASE_PATH: databasePath });

  let isDone = false;
  const statuses: Record<number, number> = {};
  const seen = new Map<number, number>();
  const client = async (number: number): Promise<void> => {
    for (let turn = number; !isDone; turn += 7) {
      await Bun.sleep(CLIENT_PAUSE_MS);
      const id = (turn % PROFILES) + 1;
      const paths = [`username/name${id}`, `uid/${id}`, `uid/${id}/links`].map((path) => `/api/lookup/${path}`);
      const path = paths[turn % 3] as string;
      const before = seen.get(id) ?? 1;
      const answer = await get(server, path, secret);
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      const body = await answer.text();
      if (answer.status === 503) {
        expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
        continue;
      }
      expect(answer.status).toBe(200);
      const version = versionOf(id, path, body);
      // A client never sees an older version after a newer one.
      expect(version).toBeGreaterThanOrEqual(before);
      seen.set(id, Math.max(version, seen.get(id) ?? 1));
    }
  };
  const board = async (): Promise<void> => {
    while (!isDone) {
      const answer = await get(server, '/api/leaderboard?limit=100', secret);
      const { leaderboard } = (await answer.json()) as { leaderboard: { rank: number; viewsCount: number }[] };
      const views = leaderboard.map((entry) => entry.viewsCount);
      expect(views).toEqual(views.toSorted((a, b) => b - a));
      expect(leaderboard.map((entry) => entry.rank)).toEqual(views.map((of) => views.indexOf(of) + 1));
      await Bun.sleep(20);
    }
  };
  let latest = 1;
  const beside = async (): Promise<void> => {
    const file = join(deps.folder, 'profiles.jsonl');
    while ((statuses[200] ?? 0) <= ANSWERS) {
      latest++;
      const lines = Array.from({ length: PROFILES }, (_, at) => `${JSON.stringify(profile(at + 1, latest))}\n`);
      writeFileSync(file, lines.join(''));
      expect(await profilectl(['profiles', 'import', file, '--db', databasePath])).toMatchObject({
        code: 0,
        stderr: '',
      });
    }
  };
  let exports = 0;
  const exporting = async (): Promise<void> => {
    while (!isDone) {
      const { code, stdout } = await profilectl(['profiles', 'export', '--db', databasePath]);
      expect(code).toBe(0);
      // An export is one snapshot. Imports proceed by id, so versions only decrease from line to line, by 1 at most.
      const versions = stdout
        .trimEnd()
        .split('\n')
        .slice(0, PROFILES)
        .map((line) => JSON.parse(line).customize.version);
      expect(versions).toEqual(versions.toSorted((a, b) => b - a));
      expect((versions[0] as number) - (versions.at(-1) as number)).toBeLessThanOrEqual(1);
      exports++;
      await Bun.sleep(PAUSE_MS);
    }
  };
  let vacuums = 0;
  const vacuuming = async (): Promise<void> => {
    const script = `const { Database } = require('bun:sqlite'); const db = new Database(process.argv[1]);
      db.run('PRAGMA busy_timeout = 20000'); db.run('VACUUM'); db.close();`;
    while (!isDone) {
      const child = Bun.spawn([process.execPath, '-e', script, databasePath], { env: cleanEnvironment() });
      expect(await child.exited).toBe(0);
      vacuums++;
      await Bun.sleep(PAUSE_MS);
    }
  };

  const load = [...Array.from({ length: 6 }, (_, number) => client(number)), board(), exporting(), vacuuming()];
  const imports = beside().finally(() => {
    isDone = true;
  });
  await Promise.all([imports, ...load]);
  const { 200: served = 0, 503: busy = 0, ...others } = statuses;
  process.stderr.write(`load: ${served} answers, ${busy} busy, ${exports} exports, ${vacuums} VACUUMs\n`);
  expect(others).toEqual({});
  expect(Math.min(exports, vacuums)).toBeGreaterThan(0);
  for (const id of [1, PROFILES]) {
    const answer = await get(server, `/api/lookup/uid/${id}`, secret);
    expect(versionOf(id, '', await answer.text())).toBe(latest);
  }
  expect(server.printed()).not.toContain('"status":500');
  expect(await server.end()).toBe(0);
  expectSound(databasePath);
}, 180_000);

test('an import killed at any moment stores each batch completely or not at all, and can be repeated', async () => {
  const deps = testDeps();
  const { databasePath } = deps.config;
  const count = 10_000;
  const sqlite = deps.db.$client;
  const tornRows = sqlite.prepare<{ id: number }, []>(
    `SELECT p.id FROM profiles p
     WHERE (SELECT group_concat(name, ',' ORDER BY position) FROM profile_names n WHERE n.profile_id = p.id)
         IS NOT p.username || ',' || (p.profile ->> 'displayName') || '-' || p.id
       OR (SELECT group_concat(value ->> 'name') FROM json_each(p.links, '$.links'))
         IS NOT concat_ws(',', p.profile ->> 'displayName', p.profile ->> 'displayName', p.profile ->> 'displayName')`,
  );
  const perVersion = sqlite.prepare<{ version: string; first: number; last: number; rows: number }, []>(
    `SELECT profile ->> 'displayName' AS version, min(id) AS first, max(id) AS last, count(*) AS rows FROM profiles GROUP BY 1 ORDER BY 2`,
  );
  const lines = (version: string): string =>
    Array.from({ length: count }, (_, at) => {
      const id = at + 1;
      const link = { name: version, link: 'https://x' };
      const links = ['a', 'b', 'c'].map((of) => ({ id: of, ...link }));
      return `${JSON.stringify({ id, username: `n${id}`, aliases: [`${version}-${id}`], displayName: version, links })}\n`;
    }).join('');
  const outcomes = { 'before it wrote': 0, 'between batches': 0, 'after the last': 0 };
  const file = join(deps.folder, 'killed.jsonl');
  const isBegun = sqlite.prepare("SELECT 1 FROM profiles WHERE id = 1 AND profile ->> 'displayName' = ?");
  // The first import measures how long one takes here; the last one completes what the killed ones left.
  const parts = fc.sample(fc.integer({ min: 20, max: 110 }), rounds(2));
  const ends: (number | 'when a batch is in' | null)[] = [null, ...parts, 'when a batch is in', null];
  let wholeMs = 0;
  for (const [at, end] of ends.entries()) {
    const version = `v${at + 1}`;
    writeFileSync(file, lines(version));
    const startedAt = performance.now();
    const child = Bun.spawn(profilectlWords(['profiles', 'import', file, '--db', databasePath]), {
      env: cleanEnvironment(),
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    if (typeof end === 'number') await Promise.race([Bun.sleep((wholeMs * end) / 100), child.exited]);
    if (end === 'when a batch is in')
      while (isBegun.get(version) === null && child.exitCode === null) await Bun.sleep(1);
    if (end !== null) child.kill('SIGKILL');
    await child.exited;
    if (end === null) wholeMs = performance.now() - startedAt;
    expect(tornRows.all()).toEqual([]);
    // Batches proceed by id, so the rows of a version are one block, and blocks are adjacent.
    const blocks = perVersion.all();
    for (const { first, last, rows } of blocks) expect(rows).toBe(last - first + 1);
    const [newest] = blocks;
    const done = newest?.version === version ? newest.rows : 0;
    outcomes[done === 0 ? 'before it wrote' : done === count ? 'after the last' : 'between batches']++;
    if (end === null) expect(blocks.map(({ rows }) => rows)).toEqual([count]);
  }
  process.stderr.write(`killed imports: ${JSON.stringify(outcomes)}\n`);
  expect(outcomes['between batches']).toBeGreaterThan(0);
  expectSound(databasePath);
}, 120_000);
