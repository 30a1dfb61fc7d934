import { expect, test } from 'bun:test';
import { copyFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAsItIs, type Sqlite } from '../../../shared/db/connect.ts';
import { MIGRATIONS, schemaVersion } from '../../../shared/db/migrate.ts';
import { KEY_STATES } from '../../../shared/db/schema.ts';
import { copyDatabase } from '../../../shared/files/copy.ts';
import { importProfiles } from '../../../shared/profiles/import/import.ts';
import { PROJECT, profilectl, profilectlWords } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { issue, keyIn } from '../../support/keys.ts';
import { NEXT_MIGRATIONS, nextVersion, startServerProcess } from '../../support/machine.ts';
import { IMPORT_OPTIONS } from '../../support/profiles.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { tempFolder, testClock, testDeps } from '../../support/world.ts';
import { mountSmallDisk, NO_MOUNT } from '../machine.ts';

// Upgrades to a made-up next version, some of them killed or on a full disk, and the way back.

const NEXT = nextVersion();
const { openDatabase } = (await import(
  join(NEXT.folder, 'shared/files/open.ts')
)) as typeof import('../../../shared/files/open.ts');
const { checkDatabase } = (await import(
  join(NEXT.folder, 'shared/files/copy.ts')
)) as typeof import('../../../shared/files/copy.ts');

/** A database of the current version with samples and keys in every state, and an Active key's secret. */
const { database: DATABASE, secret: SECRET } = await makeSample();

async function makeSample() {
  const deps = { ...testDeps(), clock: testClock(Date.parse('2026-01-01T12:00:00Z')) };
  await importProfiles(deps, join(PROJECT, 'shared/sample/profiles.jsonl'), { ...IMPORT_OPTIONS, strict: true });
  const names = deps.db.$client
    .query("SELECT username FROM profiles WHERE email IS NOT NULL AND banned = 0 AND username <> 'Ada' ORDER BY id")
    .values()
    .flat();
  for (const [index, state] of KEY_STATES.entries()) await keyIn(state, deps, String(names[index]));
  const { secret } = await issue(deps, { profile: 'Ada' });
  const database = join(tempFolder(), 'profiles.db');
  copyDatabase(deps.db.$client, database, () => {});
  return { database, secret };
}

function schemaOf(path: string): number {
  // Opened for writing, because a transaction of a killed process has to be rolled back first.
  const sqlite = openAsItIs(path, 'write');
  const version = schemaVersion(sqlite);
  sqlite.close();
  return version;
}

/** Upgrades a database as `serve` does, and returns the result of its check. */
function upgradeAndCheck(path: string) {
  const db = openDatabase(path, 'serve');
  const checked = checkDatabase(db);
  db.$client.close();
  return checked;
}

/** Every row of the current version's tables, in its columns. */
function rowsOf(sqlite: Sqlite): unknown[] {
  const before = openAsItIs(DATABASE, 'read');
  const tables = before
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence' ORDER BY name",
    )
    .all();
  const rows = tables.map(({ name }) => {
    const columns = before.query(`SELECT '"' || name || '"' FROM pragma_table_info('${name}')`).values().flat();
    return [name, sqlite.query(`SELECT ${columns.join(', ')} FROM ${name}`).all()];
  });
  before.close();
  return rows;
}

test('an upgraded database has the schema of a new one, and all rows unchanged', () => {
  const path = join(tempFolder(), 'profiles.db');
  copyFileSync(DATABASE, path);
  expect(upgradeAndCheck(path)).toMatchObject({ faults: [], profiles: 50, keys: KEY_STATES.length + 1 });
  expect(schemaOf(path)).toBe(NEXT_MIGRATIONS.length);
  const [before, after] = [DATABASE, path].map((file) => {
    const sqlite = openAsItIs(file, 'read');
    const rows = rowsOf(sqlite);
    sqlite.close();
    return rows;
  });
  expect(after).toEqual(before as unknown[]);
});

test('an upgrade killed at any moment leaves the whole old or the whole new schema, and the next start completes it', async () => {
  const folder = tempFolder();
  const script = join(folder, 'open.ts');
  writeFileSync(
    script,
    `import { openDatabase } from ${JSON.stringify(join(NEXT.folder, 'shared/files/open.ts'))};
     console.log('ready');
     openDatabase(process.argv[2], 'serve').$client.close();`,
  );
  /** Upgrades a copy of the database in a process that is killed after this many milliseconds. */
  const run = async (path: string, killAfterMs: number | null) => {
    copyFileSync(DATABASE, path);
    const child = Bun.spawn([process.execPath, script, path], { stdout: 'pipe', stderr: 'inherit' });
    await child.stdout.getReader().read();
    const beganAt = performance.now();
    if (killAfterMs !== null) {
      await Bun.sleep(killAfterMs);
      child.kill('SIGKILL');
    }
    await child.exited;
    return performance.now() - beganAt;
  };
  const wholeMs = await run(join(folder, 'whole.db'), null);
  const kills = rounds(2);
  const random = seededRandom('killed upgrades');
  for (let kill = 0; kill < kills; kill++) {
    const path = join(folder, `killed${kill}.db`);
    await run(path, (wholeMs * (kill + random())) / kills);
    expect([MIGRATIONS.length, NEXT_MIGRATIONS.length]).toContain(schemaOf(path));
    expect(upgradeAndCheck(path)).toMatchObject({ faults: [], profiles: 50 });
    expect(schemaOf(path)).toBe(NEXT_MIGRATIONS.length);
  }
}, 60_000);

test.skipIf(NO_MOUNT !== null)(
  'an upgrade is refused on a full disk with the database unchanged, and works once there is space',
  async () => {
    const disk = mountSmallDisk(4_194_304);
    const path = join(disk.folder, 'profiles.db');
    copyFileSync(DATABASE, path);
    disk.fill(65_536);
    const refused = await profilectl(['serve', '--db', path], { variables: { PORT: '0' }, program: NEXT.words });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('No space is left on the disk') });
    expect(schemaOf(path)).toBe(MIGRATIONS.length);
    expect(
      readdirSync(disk.folder).filter((name) => name.includes('before-schema') || name.includes('unfinished')),
    ).toEqual([]);
    disk.empty();
    expect(upgradeAndCheck(path)).toMatchObject({ faults: [], profiles: 50 });
  },
);

test('a server that upgrades a database keeps a copy for its user alone; the former version refuses the database, names the copy, and serves it once it is restored', async () => {
  const folder = tempFolder();
  const path = join(folder, 'profiles.db');
  const variables = { DATABASE_PATH: path };
  const printedBy = async (words: readonly string[]) => {
    const server = await startServerProcess(variables, { words: [...words, 'serve'] });
    expect((await get(server, '/api/lookup/username/Ada', SECRET)).status).toBe(200);
    expect(await server.end()).toBe(0);
    return server.printed();
  };
  const copies = () => readdirSync(folder).filter((name) => name.includes('.before-schema-'));
  copyFileSync(DATABASE, path);
  expect(await printedBy(profilectlWords([]))).not.toContain('before-schema');
  const printed = await printedBy(NEXT.words);
  const [copy = '', ...more] = copies();
  expect(copy).toMatch(new RegExp(`^profiles\\.db\\.before-schema-${NEXT_MIGRATIONS.length}-\\d{8}T\\d{6}\\.\\d{3}Z$`));
  expect(more).toEqual([]);
  expect(printed).toContain(join(folder, copy));
  expect(statSync(join(folder, copy)).mode & 0o777).toBe(0o600);
  upgradeAndCheck(path);
  expect(copies()).toEqual([copy]);

  const refused = await profilectl(['serve'], { variables });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('made by a newer version');
  expect(refused.stderr).toContain(`${path}.before-schema-*`);
  expect(await profilectl(['db', 'restore', join(folder, copy), '--db', path, '--yes'])).toMatchObject({ code: 0 });
  await printedBy(profilectlWords([]));
  expect((await profilectl(['db', 'check'], { variables })).code).toBe(0);
}, 60_000);
