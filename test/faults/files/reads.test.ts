import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Sqlite } from '../../../shared/db/connect.ts';
import { profilectlWords } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { prepare } from '../../support/keys.ts';
import { type ServerProcess, startServerProcess } from '../../support/machine.ts';
import { insertProfile } from '../../support/profiles.ts';
import { eventually, tempFolder, testDeps } from '../../support/world.ts';

// A disk on which reads sometimes fail, under a real server. Each commit makes the server read its pages again.

/** Whether libfiu's programs are installed (Debian: fiu-utils), which make system calls of another process fail. */
const HAS_LIBFIU = Bun.which('fiu-run') !== null && Bun.which('fiu-ctrl') !== null;

/** A server whose system calls can be made to fail. */
type FaultyServer = ServerProcess & {
  /** From now on, these calls (by libfiu's name, `posix/io/rw/pread`) fail with this probability. */
  fail: (call: string, probability: number) => void;
  /** From now on, these calls work again. */
  heal: (call: string) => void;
};

/** Starts `profilectl serve` under libfiu, at first without failures. Killed when the test file is done. */
async function startFaultyServer(variables: Record<string, string>): Promise<FaultyServer> {
  const control = join(tempFolder(), 'fiu');
  const words = ['fiu-run', '-x', '-f', control, ...profilectlWords(['serve'])];
  const server = await startServerProcess(variables, { words });
  const sendCommand = (command: string) => {
    const done = Bun.spawnSync(['fiu-ctrl', '-f', control, '-c', command, String(server.pid)]);
    const said = done.stdout.toString() + done.stderr.toString();
    if (done.exitCode !== 0 || said !== '') throw new Error(`fiu-ctrl did not do "${command}": ${said}`);
  };
  return {
    ...server,
    fail: (call, probability) => sendCommand(`enable_random name=${call},probability=${probability}`),
    heal: (call) => sendCommand(`disable name=${call}`),
  };
}

const READ = 'posix/io/rw/pread';
const PROFILES = 300;
const CLIENTS = 8;

/** A server with PROFILES profiles, and counts of its responses. */
async function world() {
  const deps = testDeps();
  const { $client: sqlite } = deps.db;
  const secret = await prepare(deps);
  const customize = { x: 'x'.repeat(1_000) };
  sqlite.transaction(() => {
    for (let id = 1_001; id <= 1_000 + PROFILES; id++)
      insertProfile(deps.db, { id, username: `n${id}`, viewsCount: id, customize });
  })();
  const server = await startFaultyServer({ DATABASE_PATH: deps.config.databasePath });
  const statuses = new Map<number, number>();
  /** The request ids of responses with status 500 or above. */
  const failed = new Set<string>();
  const commit = () =>
    sqlite.run("UPDATE profiles SET profile = json_set(profile, '$.viewsCount', views + 1) WHERE id = 7");

  async function ask(path: string): Promise<Response> {
    const answer = await get(server, path, secret);
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    if (answer.status >= 500) failed.add(answer.headers.get('x-request-id') as string);
    return answer;
  }

  /** Each client sends every kind of request, most of them in each turn, while this process writes. */
  async function askForAll(turns = 5): Promise<void> {
    const one = async (client: number) => {
      for (let turn = 0; turn < turns; turn++) {
        if (turn % 5 === 0) commit();
        const id = 1_001 + ((turn * 37 + client * 101) % PROFILES);
        await ask(`/api/lookup/uid/${id}`);
        await ask(`/api/lookup/username/n${id}/links`);
        if (turn % 5 === 1) await ask(`/api/leaderboard?limit=20&offset=${id - 1_001}`);
        if (turn % 5 === 2) await ask(`/api/lookup?username=n${id}&uid=7&uid=${id}`);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, client) => one(client)));
  }
  return { sqlite, server, statuses, failed, commit, ask, askForAll };
}

type World = Awaited<ReturnType<typeof world>>;

/** Waits until no reader uses the write-ahead log, and empties it. */
const emptyLogSoon = (sqlite: Sqlite) =>
  eventually(() => sqlite.query('PRAGMA wal_checkpoint(TRUNCATE)').values()[0]?.[0] === 0);

/** Expects that every request succeeds and sees the latest commit, and that no reader holds the write-ahead log. */
async function expectAsBefore({ sqlite, statuses, commit, ask, askForAll }: World): Promise<void> {
  statuses.clear();
  await askForAll();
  commit();
  // Now no view from before the commit is open.
  await emptyLogSoon(sqlite);
  const { views } = sqlite.query('SELECT views FROM profiles WHERE id = 7').get() as { views: number };
  for (let turn = 0; turn < CLIENTS; turn++) {
    expect(await (await ask('/api/lookup/uid/7')).json()).toMatchObject({ viewsCount: views });
  }
  expect([...statuses.keys()]).toEqual([200]);
}

/** Expects JSON lines, one for each failed request with its cause. */
function expectSaid(server: FaultyServer, failed: ReadonlySet<string>): void {
  const lines = server
    .printed()
    .trimEnd()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line));
  const said = lines.filter(({ message, cause }) => message === 'A request failed.' && /SQLite/i.test(String(cause)));
  expect(new Set(said.map(({ requestId }) => requestId as string))).toEqual(new Set(failed));
}

describe.skipIf(!HAS_LIBFIU)('failing reads of the database', () => {
  test('are answered with 500 or 503 and one log line each, and everything works afterwards', async () => {
    const all = await world();
    const { sqlite, server, statuses, failed } = all;
    await all.askForAll();
    expect([...statuses.keys()]).toEqual([200]);

    server.fail(READ, 0.02);
    for (let turn = 0; failed.size < 50; turn++) {
      expect(turn).toBeLessThan(50);
      await all.askForAll(25);
    }
    expect([...statuses.keys()].filter((status) => ![200, 500, 503].includes(status))).toEqual([]);
    await emptyLogSoon(sqlite);

    server.fail(READ, 1);
    all.commit();
    for (let turn = 0; turn < CLIENTS; turn++)
      expect((await all.ask('/api/lookup/uid/1001')).status).toBeGreaterThanOrEqual(500);
    server.heal(READ);
    await emptyLogSoon(sqlite);

    await expectAsBefore(all);
    expect(await server.end()).toBe(0);
    expectSaid(server, failed);
  }, 60_000);
});
