import { describe, expect, test } from 'bun:test';
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { checkDatabase } from '../../../shared/files/copy.ts';
import { vacuumDatabase } from '../../../shared/files/disk.ts';
import { commandEnvironment, profilectl, profilectlWords } from '../../support/cli.ts';
import { issue } from '../../support/keys.ts';
import { eraseProfile, exportText, importLines } from '../../support/profiles.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { eventually, onBox, tempFolder, testDeps } from '../../support/world.ts';
import { isOpenIn, mountSmallDisk, NO_MOUNT } from '../machine.ts';

// A VACUUM after hundreds of erasures, one that is killed, and one without space.

const PROFILES = 1_000;

/**
 * A line of an import that contains the mark `xm<id>q` in each of its texts. The mark begins with two letters: SQLite writes a page
 * number before the rest of a long string, which with one letter could complete half a mark. Sizes differ so that rows are on
 * shared and on overflow pages, and in the middle of either. A later `round` changes some of the texts.
 */
function markedProfile(id: number, round = 0) {
  const mark = `xm${id}q`;
  return {
    id,
    username: `${mark}user${round}`,
    aliases: [`${mark}alias${round}`, `${mark}other`],
    authId: `auth0|${mark}${round}`,
    email: `${mark}${round}@example.org`,
    displayName: `${mark} ${round}`,
    customize: { bio: `${mark} `.repeat(((id * 37) % 400) * (id % 50 === 0 ? 10 : 1)) },
    links: [{ id: 'l', name: mark, link: `https://example.org/${mark}` }],
  };
}

/** The marks found, in lower or upper case, in the database file or in files beside it whose names begin with its name. */
function marksBeside(databasePath: string): Set<number> {
  const files = readdirSync(dirname(databasePath)).filter((one) => one.startsWith(basename(databasePath)));
  const texts = files.map((name) => readFileSync(join(dirname(databasePath), name), 'latin1'));
  return new Set(texts.flatMap((text) => [...text.matchAll(/xm(\d+)q/gi)].map(([, id]) => Number(id))));
}

/** A database file with that many profiles, of which the first half was erased. */
const ERASED = await makeErased();

async function makeErased(): Promise<string> {
  const deps = testDeps();
  await importLines(
    deps,
    Array.from({ length: PROFILES }, (_, index) => markedProfile(index + 1)),
  );
  await importLines(deps, deletions(1, 500));
  deps.db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
  return deps.config.databasePath;
}

/** A copy of this database, in its own folder. */
function erasedWorld(folder = tempFolder()) {
  const databasePath = join(folder, 'profiles.db');
  copyFileSync(ERASED, databasePath);
  return { ...testDeps({ variables: { DATABASE_PATH: databasePath } }), databasePath, folder };
}

function deletions(from: number, to: number) {
  return Array.from({ length: to - from }, (_, index) => ({ id: from + index, deleted: true }));
}

function start(db: string) {
  const words = profilectlWords(['db', 'vacuum', '--json', '--db', db]);
  return Bun.spawn(words, { env: commandEnvironment(), stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
}

test('a vacuum leaves no trace of erased profiles among many, and of their keys, imported repeatedly and erased in three ways', async () => {
  const deps = testDeps();
  const draw = seededRandom('erased profiles');
  const ids = Array.from({ length: rounds(600) }, (_, index) => index + 1);
  /** Random ids, `part` times as many as there are, some of them repeated. */
  const random = (part: number) => Array.from({ length: part * ids.length }, () => 1 + Math.floor(draw() * ids.length));
  const put = async (lines: readonly object[], options?: { merge: true }) =>
    expect((await importLines(deps, lines, options)).refused).toEqual([]);
  await put(ids.map((id) => markedProfile(id)));
  const texts = { name: 'Bot xm1q', description: 'xm1q '.repeat(30), expectedUsage: 'xm1q' };
  await issue(deps, { profile: 'xm1quser0', ...texts });
  for (let round = 1; round <= 3; round++) await put(random(0.3).map((id) => markedProfile(id, round)));
  await put(
    random(0.2).map((id) => ({ id, email: `xm${id}q9@example.org`, aliases: [], links: [] })),
    { merge: true },
  );

  const erased = new Set([1, ...random(0.8)]);
  const deletions = [...erased].map((id) => ({ id, deleted: true }));
  const usernames = deps.db.$client.prepare<{ username: string }, [number]>(
    'SELECT username FROM profiles WHERE id = ?',
  );
  for (const id of [...erased].slice(0, 60))
    eraseProfile(deps, usernames.get(id)?.username as string, onBox('operator'));
  await put(deletions.slice(0, deletions.length / 2));
  await put(deletions.slice(deletions.length / 2), { merge: true });

  vacuumDatabase(deps.db, deps.clock);
  const found = marksBeside(deps.config.databasePath);
  expect([...found].filter((id) => erased.has(id) || id > ids.length)).toEqual([]);
  expect(ids.filter((id) => !erased.has(id) && !found.has(id))).toEqual([]);
  expect(checkDatabase(deps.db)).toMatchObject({ faults: [], profiles: ids.length - erased.size });
}, 120_000);

test('a vacuum killed at any moment leaves the database unchanged and no files, and the next one succeeds', async () => {
  const deps = erasedWorld();
  const { databasePath } = deps;
  const before = await exportText(deps);
  expect(JSON.parse(await new Response(start(databasePath).stdout).text()).milliseconds).toBeGreaterThan(0);
  const files = readdirSync(deps.folder).sort();
  const startedMs = performance.now();
  expect(await start(databasePath).exited).toBe(0);
  const wholeMs = performance.now() - startedMs;
  const kills = rounds(2);
  const random = seededRandom('killed vacuums');
  const moments = Array.from({ length: kills }, (_, kill) => (wholeMs * (kill + random())) / (kills + 0.5));
  for (const afterMs of [...moments, 'once it has the database open']) {
    // While it waits for the lock it can't end before it is noticed.
    if (typeof afterMs === 'string') deps.db.$client.run('BEGIN IMMEDIATE');
    const child = start(databasePath);
    if (typeof afterMs === 'number') await Bun.sleep(afterMs);
    else {
      await eventually(() => isOpenIn(child.pid, databasePath));
      deps.db.$client.run('ROLLBACK');
    }
    child.kill('SIGKILL');
    await child.exited;
    if (typeof afterMs === 'string') expect(child.signalCode).toBe('SIGKILL');
    expect(checkDatabase(deps.db).faults).toEqual([]);
    expect(await exportText(deps)).toBe(before);
  }
  expect(readdirSync(deps.folder).sort()).toEqual(files);
  await importLines(deps, deletions(500, 600));
  expect(await start(databasePath).exited).toBe(0);
  expect([...marksBeside(databasePath)].filter((id) => id < 600)).toEqual([]);
}, 60_000);

describe.skipIf(NO_MOUNT !== null)(`with a separate disk${NO_MOUNT === null ? '' : ` (${NO_MOUNT})`}`, () => {
  test('without twice the size of the database free, a vacuum is refused and status warns; with it, it succeeds', async () => {
    const MIB = 1_048_576;
    const disk = mountSmallDisk(28 * MIB);
    const { databasePath } = erasedWorld(disk.folder);
    disk.fill(MIB);
    const variables = { DATABASE_PATH: databasePath };
    const refused = await profilectl(['db', 'vacuum'], { variables });
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^A vacuum needs \S+ MiB on the disk of the database, but only \S+ MiB is free; free up some space\.$/m,
      ),
    });
    const { warnings, isVacuumWanted } = JSON.parse((await profilectl(['status', '--json'], { variables })).stdout);
    expect(warnings.join()).toContain("Erased text can't be removed from the file. A vacuum needs");
    expect(isVacuumWanted).toBe(true);
    disk.empty();
    expect((await profilectl(['db', 'vacuum'], { variables })).code).toBe(0);
    expect([...marksBeside(databasePath)].filter((id) => id < 500)).toEqual([]);
  }, 30_000);
});
