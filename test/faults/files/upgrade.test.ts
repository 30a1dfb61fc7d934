import { describe, expect, test } from 'bun:test';
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBare } from '../../../shared/db/connect.ts';
import { MIGRATIONS } from '../../../shared/db/migrations.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { checkDatabase } from '../../../shared/upkeep/check.ts';
import { cleanEnvironment, type Finished, PROJECT, profilectl } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { mountSmallDisk, NO_MOUNT } from '../../support/machine/small-disk.ts';
import { makeOlderDatabase } from '../../support/machine/upgrade.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { tempFolder } from '../../support/world.ts';

// Upgrades that are killed or meet a full disk, and the way back to the version before.

const FIXTURE = join(PROJECT, 'test/fixtures/first-schema.db');

/** The secret of the fixture's Active key, which is good for nothing else. */
const SECRET = 'plk_ToxWbeC0_gmWx5kxMp5oj7EXXfhcMujb7ZGhPJKsS1JhBq0';

function schemaOf(path: string): number {
  // To write, since what a killed process left half done is undone first.
  const sqlite = openBare(path, 'write');
  const { n } = sqlite.query('SELECT count(*) AS n FROM migrations').get() as { n: number };
  sqlite.close();
  return n;
}

/** Opens a database as `serve` does, which upgrades it, and returns what a check of it finds. */
function upgradeAndCheck(path: string) {
  const db = openDatabase(path, 'serve');
  const checked = checkDatabase(db);
  db.$client.close();
  return checked;
}

describe('from every schema since the first', () => {
  for (let schema = 1; schema < MIGRATIONS.length; schema++) {
    test(`schema ${schema} is upgraded to what a new database has, without a fault`, () => {
      const path = join(tempFolder(), 'profiles.db');
      makeOlderDatabase(path, schema);
      expect(upgradeAndCheck(path).faults).toEqual([]);
      expect(schemaOf(path)).toBe(MIGRATIONS.length);
    });
  }
});

test('killed at any moment, an upgrade leaves the old schema or the new one, whole, and the next start finishes it', async () => {
  const folder = tempFolder();
  const script = join(folder, 'open.ts');
  writeFileSync(
    script,
    `import { openDatabase } from ${JSON.stringify(join(PROJECT, 'shared/db-files/open.ts'))};
     console.log('ready');
     openDatabase(process.argv[2], 'serve').$client.close();`,
  );
  /** Upgrades a copy of the fixture in a process that is killed so many milliseconds after it began to. */
  const run = async (path: string, killAfterMs: number | null) => {
    copyFileSync(FIXTURE, path);
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
  const kills = rounds(12);
  const random = seededRandom('killed upgrades');
  for (let kill = 0; kill < kills; kill++) {
    const path = join(folder, `killed${kill}.db`);
    await run(path, (wholeMs * (kill + random())) / kills);
    expect([1, MIGRATIONS.length]).toContain(schemaOf(path));
    expect(upgradeAndCheck(path)).toMatchObject({ faults: [], profiles: 49 });
    expect(schemaOf(path)).toBe(MIGRATIONS.length);
  }
}, 60_000);

test.skipIf(NO_MOUNT !== null)(
  'on a full disk an upgrade is refused with the database as it was, and done once there is room',
  async () => {
    const disk = mountSmallDisk(4_194_304);
    const path = join(disk.folder, 'profiles.db');
    copyFileSync(FIXTURE, path);
    disk.fill(65_536);
    const refused = await profilectl(['serve', '--db', path], { variables: { PORT: '0' } });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('no room left on the disk') });
    expect(schemaOf(path)).toBe(1);
    expect(
      readdirSync(disk.folder).filter((name) => name.includes('before-schema') || name.includes('unfinished')),
    ).toEqual([]);
    disk.empty();
    expect(upgradeAndCheck(path)).toMatchObject({ faults: [], profiles: 49 });
  },
);

/** Builds the binary that this one follows: the same program, but for the last migration, which it does not know. */
async function buildFormerBinary(): Promise<string> {
  const folder = tempFolder();
  for (const name of ['cli', 'server', 'shared', 'drizzle', 'package.json', 'tsconfig.json']) {
    cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  const list = join(folder, 'shared/db/migrations.ts');
  const last = MIGRATIONS.at(-1)?.name as string;
  const lines = readFileSync(list, 'utf8').split('\n');
  writeFileSync(list, lines.filter((line) => !line.includes(`'${last}'`)).join('\n'));
  mkdirSync(join(folder, 'dist'));
  const binary = join(folder, 'dist/profilectl');
  const words = [process.execPath, 'cli/build.ts', binary, 'former'];
  expect(await Bun.spawn(words, { cwd: folder, stdout: 'ignore', stderr: 'inherit' }).exited).toBe(0);
  return binary;
}

test('the version before refuses an upgraded database, names the copy and the command, and serves it after that command', async () => {
  const former = await buildFormerBinary();
  const folder = tempFolder();
  const path = join(folder, 'profiles.db');
  const run = async (...words: string[]): Promise<Finished> => {
    const child = Bun.spawn(words, { cwd: folder, env: cleanEnvironment(), stdout: 'pipe', stderr: 'pipe' });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { stdout, stderr, code: await child.exited };
  };
  const environment = cleanEnvironment({ DATABASE_PATH: path, PORT: '0' });
  const startFormer = () => startServerProcess({}, { words: [former, 'serve'], environment, cwd: folder });
  const lookUp = async (server: { url: string }) => (await get(server, '/api/lookup/username/Ada', SECRET)).status;
  copyFileSync(FIXTURE, path);
  const old = await startFormer();
  expect(await lookUp(old)).toBe(200);
  expect(await old.end()).toBe(0);
  const upgraded = await startServerProcess({ DATABASE_PATH: path });
  expect(await lookUp(upgraded)).toBe(200);
  expect(await upgraded.end()).toBe(0);

  const refused = await run(former, '--db', path, 'serve');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('made by a newer version');
  const [, command = ''] = /"profilectl ([^"]+)"/.exec(refused.stderr) ?? [];
  expect(command).toMatch(new RegExp(`db restore ${path}\\.before-schema-${MIGRATIONS.length}-\\d{8}T`));
  expect(await run(former, ...command.split(' '), '--yes')).toMatchObject({ code: 0 });

  const again = await startFormer();
  expect(await lookUp(again)).toBe(200);
  expect(await again.end()).toBe(0);
  expect((await run(former, '--db', path, 'db', 'check')).code).toBe(0);
}, 60_000);
