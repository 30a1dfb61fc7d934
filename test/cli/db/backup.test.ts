import { describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { openAsItIs } from '../../../shared/db/connect.ts';
import { checkDatabase, readLastBackup } from '../../../shared/files/copy.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { cleanEnvironment, profilectl, profilectlWords } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { issue, request } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine.ts';
import { countRows, signedIn, ticketFor } from '../../support/people.ts';
import { exportText, importLines, jsonLines } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { onBox, testDeps } from '../../support/world.ts';
import { openTerminal, runCommand } from '../commands.ts';

async function world() {
  const deps = testDeps();
  await importLines(deps, [{ id: 7, username: 'Ada', email: 'ada@example.org' }]);
  const backup = (file: string, ...words: string[]) =>
    runCommand(['db', 'backup', file, '--db', deps.config.databasePath, ...words]);
  return { deps, folder: deps.folder, backup };
}

describe('db backup', () => {
  test('writes a complete copy with mode 0600, and prints its size', async () => {
    const { deps, folder, backup } = await world();
    const { secret } = await issue(deps, { profile: 'Ada' });
    const file = join(folder, 'copy.db');
    const umask = process.umask(0);
    const done = await backup(file);
    process.umask(umask);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(/^Backed up 1 profile and 1 key to .*copy\.db \(\d+\.\d KiB\)\.\n$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readLastBackup(deps.db.$client)).toBeNull();
    const copy = openDatabase(file, 'use');
    expect(await exportText({ db: copy })).toBe(await exportText(deps));
    expect(checkDatabase(copy).faults).toEqual([]);
    copy.$client.close();
    expect(readFileSync(file, 'latin1')).not.toContain(secret.slice(13));
  });

  test('records time and file of a scheduled one alone', async () => {
    const { deps, folder, backup } = await world();
    const file = join(folder, 'nightly.db');
    expect((await backup(file, '--scheduled')).code).toBe(0);
    expect(readLastBackup(deps.db.$client)).toEqual({ at: expect.stringMatching(/Z$/), file });
  });

  test('has no sign-ins, no one-time secrets and no waiting mails, not even in unused parts of the file', async () => {
    const { deps, folder, backup } = await world();
    signedIn(deps, 7, { address: '192.0.2.7', agent: 'The agent in a sign-in' });
    ticketFor(deps, 7);
    const rejected = await request(deps, { profile: 'Ada' });
    moveAndNotify(deps, 'reject', {
      identifier: rejected,
      reason: 'The reason in a waiting mail.',
      by: onBox('admin'),
    });
    const tables = ['sign_ins', 'tickets', 'mails'];
    expect(tables.map((table) => countRows(deps.db, table))).toEqual([1, 1, 1]);
    const file = join(folder, 'copy.db');
    expect((await backup(file)).code).toBe(0);
    using copy = openAsItIs(file, 'read');
    for (const table of tables) expect(copy.query(`SELECT * FROM ${table}`).all()).toEqual([]);
    const bytes = readFileSync(file, 'latin1');
    // Once in the history.
    expect(bytes.split('The reason in a waiting mail').length).toBe(2);
    expect(bytes).not.toContain('The agent in a sign-in');
  });

  test('refuses a name at which another backup is being made, or was killed', async () => {
    const { folder, backup } = await world();
    const file = join(folder, 'copy.db');
    writeFileSync(`${file}.unfinished`, 'half a copy');
    expect(await backup(file)).toMatchObject({ code: 1, stderr: expect.stringContaining('remove that file') });
    expect(readFileSync(`${file}.unfinished`, 'utf8')).toBe('half a copy');
    rmSync(`${file}.unfinished`);
    expect((await backup(file)).code).toBe(0);
  });

  test('with --json prints the file and its counts', async () => {
    const { folder, backup } = await world();
    const file = join(folder, 'copy.db');
    const { stdout } = await backup(file, '--json');
    expect(JSON.parse(stdout)).toEqual({ file, bytes: statSync(file).size, profiles: 1, keys: 0 });
  });

  test('never overwrites a file, a folder or the target of a link', async () => {
    const { deps, folder, backup } = await world();
    const taken = ['file', 'folder', 'link'].map((name) => join(folder, name));
    writeFileSync(join(folder, 'file'), 'precious');
    mkdirSync(join(folder, 'folder'));
    symlinkSync(join(folder, 'nowhere'), join(folder, 'link'));
    for (const file of [...taken, deps.config.databasePath]) {
      const done = await backup(file);
      expect(done).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining('already exists') });
    }
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('precious');
    expect(existsSync(join(folder, 'nowhere'))).toBe(false);
  });

  test('refuses the names of files that belong to the database, also those that do not exist', async () => {
    const { folder, deps, backup } = await world();
    const { databasePath } = deps.config;
    symlinkSync('.', join(folder, 'here'));
    symlinkSync(databasePath, join(folder, 'link.db'));
    const before = readdirSync(folder);
    for (const suffix of ['-journal', '.lock', '.unfinished']) {
      const name = basename(databasePath) + suffix;
      const done = [
        await backup(join(folder, name)),
        await backup(join(folder, 'here', name), '--db', join(folder, 'link.db')),
      ];
      const refused = { code: 1, stdout: '', stderr: expect.stringContaining('would be a file of the database') };
      expect(done).toEqual([refused, refused]);
    }
    expect(readdirSync(folder)).toEqual(before);
  });

  test('refuses a missing folder with one sentence, and one that is not writable without leaving a file', async () => {
    const { folder, backup } = await world();
    expect((await backup(join(folder, 'none/copy.db'))).stderr).toBe(`There is no folder ${join(folder, 'none')}.\n`);
    if (process.getuid?.() === 0) return;
    const closed = join(folder, 'closed');
    mkdirSync(closed, { mode: 0o500 });
    const done = await backup(join(closed, 'copy.db'));
    chmodSync(closed, 0o700);
    expect(done.code).toBe(1);
    expect(readdirSync(closed)).toEqual([]);
  });

  test('fails on a full disk, and leaves no file', async () => {
    const { deps, folder } = await world();
    await importLines(
      deps,
      Array.from({ length: 500 }, (_, index) => ({
        id: index + 10,
        username: `u${index}`,
        customize: { x: 'y'.repeat(900) },
      })),
    );
    mkdirSync(join(folder, 'small'));
    const words = profilectlWords(['db', 'backup', join(folder, 'small/copy.db'), '--db', deps.config.databasePath]);
    // A limit on the size of files simulates a full disk.
    const child = Bun.spawn(['bash', '-c', 'trap "" XFSZ; ulimit -f 200; exec "$@"', 'bash', ...words], {
      env: cleanEnvironment(),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    expect(await child.exited).toBe(1);
    expect(await new Response(child.stderr).text()).toMatch(/small\/copy\.db/);
    expect(readdirSync(join(folder, 'small'))).toEqual([]);
  });

  test('refuses a damaged database', async () => {
    const { deps, folder, backup } = await world();
    deps.db.$client.run('PRAGMA ignore_check_constraints = ON');
    deps.db.$client.run("UPDATE profiles SET profile = json_set(profile, '$.banned', 7)");
    const done = await backup(join(folder, 'copy.db'));
    expect(done).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('profiles.db is damaged') });
    expect(existsSync(join(folder, 'copy.db'))).toBe(false);
  });

  test('is a consistent snapshot, even while a server is running and an import is writing', async () => {
    const { deps, folder } = await world();
    const db = deps.config.databasePath;
    const server = await startServerProcess({ DATABASE_PATH: db });
    // The import sets the counts of all profiles in one transaction.
    const pairs = Array.from({ length: 300 }, (_, index) =>
      [1, 2].map((side) => ({ id: index * 2 + side + 100, username: `p${index}-${side}` })),
    );
    await importLines(deps, pairs.flat());
    const child = Bun.spawn(profilectlWords(['profiles', 'import', '-', '--merge', '--strict', '--db', db]), {
      env: cleanEnvironment(),
      stdin: new Blob([jsonLines(...pairs.flat().map(({ id }) => ({ id, viewsCount: 1 })))]),
    });
    for (let round = 1; round <= rounds(1); round++) {
      const file = join(folder, `copy${round}.db`);
      expect((await profilectl(['db', 'backup', file, '--db', db])).code).toBe(0);
      const copy = openDatabase(file, 'use');
      const counts = copy.$client.query('SELECT DISTINCT views AS v FROM profiles WHERE id > 100').all();
      expect(counts).toHaveLength(1);
      copy.$client.close();
      expect((await get(server, '/readyz')).status).toBe(200);
    }
    expect(await child.exited).toBe(0);
    expect(await server.end()).toBe(0);
  }, 30_000);

  test('shows its progress on a terminal', async () => {
    const { deps, folder } = await world();
    const terminal = openTerminal(['db', 'backup', join(folder, 'copy.db'), '--db', deps.config.databasePath]);
    await terminal.see(/Copying .* …/);
    await terminal.see(/Verifying .* …/);
    await terminal.see('Backed up 1 profile');
    expect(await terminal.exited).toBe(0);
  });
});

describe('db check', () => {
  test('reports that there are no problems, or prints each problem on a line (exit code 1)', async () => {
    const { deps } = await world();
    const check = (...words: string[]) => runCommand(['db', 'check', '--db', deps.config.databasePath, ...words]);
    expect(await check()).toEqual({
      code: 0,
      stdout: 'No problems found in 1 profile and 0 keys.\n',
      stderr: '',
    });
    expect(JSON.parse((await check('--json')).stdout)).toEqual({ ok: true, faults: [] });
    deps.db.$client.run('PRAGMA ignore_check_constraints = ON');
    deps.db.$client.run("UPDATE profiles SET profile = json_set(profile, '$.banned', 7)");
    const fault = 'CHECK constraint failed in profiles';
    expect(await check()).toEqual({ code: 1, stdout: `${fault}\n`, stderr: '1 problem found.\n' });
    const json = await check('--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, faults: [fault] });
    expect(json.code).toBe(1);
  });

  test('changes nothing in a backup', async () => {
    const { folder, backup } = await world();
    const file = join(folder, 'copy.db');
    await backup(file);
    const before = readFileSync(file);
    expect((await runCommand(['db', 'check', '--db', file])).code).toBe(0);
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});
