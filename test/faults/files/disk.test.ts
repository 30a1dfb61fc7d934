import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { copyFileSync, cpSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { faultOf } from '../../../shared/errors.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { editKey, moveAndNotify } from '../../../shared/keys/life.ts';
import { showKey } from '../../../shared/keys/view.ts';
import { runCommand } from '../../cli/commands.ts';
import { expectRefused } from '../../server/refusals.ts';
import { profilectl } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { DESCRIPTION, keyFor, request } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine.ts';
import { startSmtp } from '../../support/mail.ts';
import { addBackend } from '../../support/people.ts';
import { importLines, jsonLines } from '../../support/profiles.ts';
import { eventually, onBox, tempFolder, testDeps } from '../../support/world.ts';
import { expectSound, mountSmallDisk, NO_MOUNT, type SmallDisk } from '../machine.ts';

// A full disk and a read-only one, with real processes. Mounting needs root.

const MIB = 1_048_576;

/** A database with profiles, an Active and a pending key, on its own disk. */
async function world() {
  const disk = mountSmallDisk(6 * MIB);
  return { disk, ...(await makeDatabase(disk.folder)) };
}

async function makeDatabase(folder: string) {
  const databasePath = join(folder, 'profiles.db');
  const base = testDeps();
  const db = openDatabase(databasePath, 'serve');
  const deps = { ...base, db };
  const { secret, identifier: active } = await keyFor(deps, ['1000000/1d']);
  const lines = Array.from({ length: 20 }, (_, at) => ({
    id: at + 1,
    username: `n${at + 1}`,
    email: 'o@example.org',
  }));
  await importLines(deps, lines);
  const pending = await request(deps, { profile: 'n1' });
  const variables = { DATABASE_PATH: databasePath, MAIL_URL: `file:${join(base.folder, 'mail')}` };
  const close = () => db.$client.close();
  return { databasePath, deps, secret, active, pending, variables, close };
}

/**
 * Makes the files of such a database after its server was stopped: from a copy, because in this process SQLite keeps the
 * files beside a closed database until the statements are garbage-collected.
 */
async function serveAndStop() {
  const { databasePath: original, secret, pending, variables, close } = await makeDatabase(tempFolder());
  const folder = tempFolder();
  const databasePath = join(folder, 'profiles.db');
  for (const suffix of ['', '-wal']) copyFileSync(original + suffix, databasePath + suffix);
  close();
  const server = await startServerProcess({ ...variables, DATABASE_PATH: databasePath });
  expect((await get(server, '/api/lookup/uid/7', secret)).status).toBe(200);
  expect(await server.end()).toBe(0);
  expect(readdirSync(folder).filter((name) => /-(wal|shm)$/.test(name))).toEqual([]);
  return { folder, secret, pending, variables };
}

const stopped = NO_MOUNT === null ? await serveAndStop() : (undefined as never);

/** Copies these files to their own disk. */
function stoppedWorld() {
  const { folder, secret, pending, variables } = stopped;
  const disk = mountSmallDisk(6 * MIB);
  cpSync(folder, disk.folder, { recursive: true });
  const databasePath = join(disk.folder, 'profiles.db');
  return { disk, databasePath, secret, pending, variables: { ...variables, DATABASE_PATH: databasePath } };
}

/** A mail server that fills the disk while it accepts a message, and frees it 700 ms later; with its variables. */
async function startFillingSmtp(disk: SmallDisk) {
  const smtp = await startSmtp({
    onMessage: () => {
      disk.fill();
      // Longer than a delivery delays the next one.
      setTimeout(disk.empty, 1_300);
    },
  });
  return { smtp, mail: { MAIL_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: 'keys@example.net' } };
}

/** Commands that write, with their stdin; the import gets this number of lines. */
function writers(pending: string, count: number): [string[], string?][] {
  const many = jsonLines(
    ...Array.from({ length: count }, (_, at) => ({
      id: at + 1,
      username: `m${at + 1}`,
      customize: { x: 'x'.repeat(5_000) },
    })),
  );
  const ask = ['keys', 'request', '--profile', 'n2', '--name', 'Bot', '--permission', 'api.lookup'];
  return [
    [['profiles', 'import', '-'], many],
    [['keys', 'approve', pending]],
    [[...ask, '--description', DESCRIPTION]],
    [['profiles', 'erase', 'n3', '--yes']],
  ];
}

/** Expects one sentence that names the problem, without a library's words or a stack. */
function expectSentence(done: { code: number; stdout: string; stderr: string }, sentence: RegExp, code = 1): void {
  expect(done).toEqual({ code, stdout: '', stderr: expect.stringMatching(sentence) });
  expect(done.stderr.trimEnd().split('\n').length).toBe(1);
  expect(done.stderr).not.toMatch(/Error:|\bat \/|this is a bug/);
}

describe.skipIf(NO_MOUNT !== null)(`with a separate disk${NO_MOUNT === null ? '' : ` (${NO_MOUNT})`}`, () => {
  test('a full disk: reads and quotas continue, writes are refused with a sentence; with space everything works again', async () => {
    const { disk, databasePath, secret, pending, variables, close } = await world();
    const server = await startServerProcess(variables);
    const remaining = async () => {
      const answer = await get(server, '/api/lookup/username/n7', secret);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ id: 7 });
      return Number(/;r=(\d+);/.exec(answer.headers.get('ratelimit') ?? '')?.[1]);
    };
    const first = await remaining();
    disk.fill();
    // Far more lines than fit into any remaining space, so that some of them may be imported.
    const commands = writers(pending, 500);
    for (const [words, stdin] of commands) {
      const done = await profilectl(words, { variables, ...(stdin !== undefined && { stdin }) });
      expectSentence(done, /^No space is left on the disk /);
    }
    for (const words of [
      ['keys', 'list'],
      ['keys', 'show', pending],
      ['profiles', 'show', 'n4'],
      ['profiles', 'export'],
    ]) {
      expect(await runCommand(words, { variables })).toMatchObject({ code: 0, stderr: '' });
    }
    let asked = 1;
    while (!server.printed().includes('Quotas and usage cannot be written')) {
      expect(await remaining()).toBe(first - asked++);
      expect(asked).toBeLessThan(5_000);
      await Bun.sleep(10);
    }
    expect(server.printed().split('Quotas and usage cannot be written').length).toBe(2);
    expect((await get(server, '/readyz')).status).toBe(200);
    disk.empty();
    expect(await profilectl(['keys', 'edit', pending, '--name', 'Another'], { variables })).toMatchObject({ code: 0 });
    await remaining();
    // Quotas counted while the disk was full are saved now.
    expect(await server.end()).toBe(0);
    close();
    const again = await startServerProcess(variables);
    const answer = await get(again, '/api/key', secret);
    expect(answer.headers.get('ratelimit')).toContain(`;r=${first - asked};`);
    expect(await again.end()).toBe(0);
    expectSound(databasePath);
  }, 60_000);

  test('a backend whose lines fit on the disk only in part is not told the path of the database', async () => {
    const { deps, variables, databasePath, close } = await world();
    const token = addBackend(deps).token;
    const server = await startServerProcess(variables);
    const [[, lines = '']] = writers('', 2_000) as [[string[], string]];
    const init = { method: 'POST', body: lines, headers: { 'Content-Type': 'application/jsonl' } };
    const sentence = await expectRefused(await get(server, '/manage/v1/profiles', token, init), 500, 'internal');
    expect(sentence).not.toContain(databasePath);
    await server.see(/lines were imported; this step wrote nothing/);
    expect(await server.end()).toBe(0);
    close();
  }, 60_000);

  test('a disk that fills up during an import: reported batches are stored whole, and a second run imports the rest', async () => {
    const { disk, databasePath, variables, close } = await world();
    const count = 1_300;
    const lines = Array.from({ length: count }, (_, at) => ({
      id: 10_000 + at,
      username: `big${at}`,
      customize: { x: 'x'.repeat(1_500) },
      links: [{ id: 'l', name: 'n', link: 'https://x' }],
    }));
    disk.fill(2.2 * MIB);
    const stdin = jsonLines(...lines);
    const refused = await profilectl(['profiles', 'import', '-'], { variables, stdin });
    expectSentence(
      refused,
      /^No space is left on the disk of .*; \d+ lines were imported; this step wrote nothing\.$/m,
      3,
    );
    close();
    const sqlite = new Database(databasePath);
    const [torn] = sqlite
      .query(
        `SELECT count(*) FROM profiles p WHERE id BETWEEN 10000 AND 20000 AND (json_array_length(links, '$.links') <> 1
          OR (SELECT count(*) FROM profile_names n WHERE n.profile_id = p.id) <> 1)`,
      )
      .values()[0] as [number];
    expect(torn).toBe(0);
    const [inNow] = sqlite.query('SELECT count(*) FROM profiles WHERE id BETWEEN 10000 AND 20000').values()[0] as [
      number,
    ];
    expect([inNow > 0, inNow < count]).toEqual([true, true]);
    expect(refused.stderr).toContain(`; ${inNow} lines were imported; `);
    sqlite.close();
    expectSound(databasePath);
    disk.empty();
    const done = await profilectl(['profiles', 'import', '-'], { variables, stdin });
    expect(done).toMatchObject({ code: 0, stdout: `Imported ${count} lines into ${databasePath}.\n` });
    expectSound(databasePath);
  }, 60_000);

  test('a disk that is full when the mail is accepted: the key stays pending, and nothing is half stored', async () => {
    const { disk, deps, databasePath, pending, variables, close } = await world();
    const { smtp, mail } = await startFillingSmtp(disk);
    const done = await profilectl(['keys', 'approve', pending], { variables: { ...variables, ...mail } });
    expect([done.code, done.stdout]).toEqual([75, '']);
    expect(done.stderr).toContain('the secret in that mail will never work');
    expect(smtp.received).toHaveLength(1);
    expect(showKey(deps, pending)).toMatchObject({ state: 'pending', attempt: { result: 'open' } });
    const withdraw = () => moveAndNotify(deps, 'withdraw', { identifier: pending, by: onBox('root') });
    await eventually(() => faultOf(withdraw) === null);
    expect(showKey(deps, pending)).toMatchObject({ state: 'withdrawn', attempt: { result: 'voided' } });
    close();
    expectSound(databasePath);
  }, 60_000);

  test('a disk that is full when a change mail is accepted: the change holds, and the command says that the mail may go out again', async () => {
    const { disk, deps, databasePath, active, variables, close } = await world();
    const { smtp, mail } = await startFillingSmtp(disk);
    const change = ['keys', 'change', active, '--rate-limit', '7/1m'];
    const done = await profilectl(change, { variables: { ...variables, ...mail } });
    expect([done.code, done.stdout]).toEqual([0, `${active} Active\n`]);
    expect(done.stderr).toMatch(/^Warning: The mail may not have been sent yet. No space is left on the disk of /);
    expect(smtp.received).toHaveLength(1);
    expect(showKey(deps, active).rateLimits).toEqual([{ quota: 7, windowSeconds: 60 }]);
    expect(deps.db.$client.query('SELECT kind, tries, result FROM mails').all()).toEqual([
      { kind: 'change', tries: 1, result: 'waiting' },
    ]);
    const rename = () => editKey(deps, { identifier: active, name: 'After it', by: onBox('root') });
    await eventually(() => faultOf(rename) === null);
    close();
    expectSound(databasePath);
  }, 60_000);

  test('a full disk: a restore that repeats an erasure replaces nothing, leaves no files, and works once there is space', async () => {
    const disk = mountSmallDisk(4 * MIB);
    const DATABASE_PATH = join(disk.folder, 'profiles.db');
    const variables = { DATABASE_PATH };
    const run = (...words: string[]) => profilectl(words, { variables });
    const lines = Array.from({ length: 50 }, (_, at) => ({ id: at + 1, username: `n${at + 1}` }));
    const stdin = jsonLines(...lines.map((line) => ({ ...line, customize: { text: 'x'.repeat(10_000) } })));
    await profilectl(['profiles', 'import', '-'], { variables, stdin });
    const backup = join(tempFolder(), 'backup.db');
    expect((await run('db', 'backup', backup)).code).toBe(0);
    expect((await run('profiles', 'erase', 'n7', '--yes')).code).toBe(0);
    expect(
      (await profilectl(['profiles', 'import', '-', '--merge'], { variables, stdin: '{"id":8,"username":"new8"}' }))
        .code,
    ).toBe(0);
    const files = () => readdirSync(disk.folder).filter((name) => !/(\.lock|-wal|-shm)$/.test(name));
    const before = files().sort();
    const restore = ['db', 'restore', backup, '--yes'];
    const size = statSync(DATABASE_PATH).size;
    // First no space for the copy, then space for it, but not for erasing in it.
    for (const leave of [size / 2, size + 16_384]) {
      disk.fill(leave);
      const refused = await run(...restore);
      expect([refused.code, refused.stdout]).toEqual([1, '']);
      expect(refused.stderr).toMatch(/No space is left on the disk of /);
      disk.empty();
      expect(files().sort()).toEqual(before);
      expect((await run('profiles', 'show', 'new8')).code).toBe(0);
    }
    const done = await run(...restore);
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining('profiles erased: UID 7\n') });
    expect((await run('profiles', 'show', '--uid', '7')).code).toBe(1);
    expect((await run('profiles', 'show', 'n8')).code).toBe(0);
    expectSound(DATABASE_PATH);
  }, 60_000);

  test('status, log and /metrics show if less than a tenth of the disk, or three times the size of the database, is free', async () => {
    const disk = mountSmallDisk(16 * MIB);
    const DATABASE_PATH = join(disk.folder, 'profiles.db');
    const variables = { DATABASE_PATH, METRICS_TOKEN: 'scraper.7Rk2mQ9bTzA~' };
    const deps = testDeps({ variables: { DATABASE_PATH } });
    const importMany = async (count: number) => {
      const customize = { text: 'x'.repeat(50_000) };
      await importLines(
        deps,
        Array.from({ length: count }, (_, at) => ({ id: at + 1, username: `n${at + 1}`, customize })),
      );
      deps.db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
    };
    /** The warnings of `status` about the disk with this many bytes free. */
    const statusWith = async (leave: number) => {
      disk.fill(leave);
      const { stdout } = await runCommand(['status', '--json'], { variables });
      const { disk: room, warnings } = JSON.parse(stdout);
      disk.empty();
      expect(room.totalBytes).toBe(16 * MIB);
      expect(Math.abs(room.freeBytes - leave)).toBeLessThan(MIB / 4);
      return (warnings as string[]).filter((warning) => warning.includes('The disk of '));
    };
    await importMany(1);
    expect(await statusWith(2 * MIB)).toEqual([]);
    expect(await statusWith(1.5 * MIB)).toEqual([expect.stringContaining(' has 1.5 MiB left, 9% of it. ')]);
    await importMany(24);
    const threeTimes = 3 * statSync(DATABASE_PATH).size;
    expect(threeTimes).toBeGreaterThan(2.6 * MIB);
    expect(await statusWith(threeTimes + MIB)).toEqual([]);
    const [warning, ...more] = await statusWith(threeTimes - MIB);
    expect([warning, more]).toEqual([expect.stringMatching(/ MiB left, [1-9]\d% of it\. .* three times /), []]);
    disk.fill(threeTimes - MIB);
    const server = await startServerProcess(variables);
    await server.see(/"level":"warn","message":"The disk of [^"]* MiB left, \d+% of it\. /);
    const metrics = await (await get(server, '/metrics', variables.METRICS_TOKEN)).text();
    expect(metrics).toContain(`\nprofile_lookup_disk_size_bytes ${16 * MIB}\n`);
    const free = Number(/^profile_lookup_disk_free_bytes (\d+)$/m.exec(metrics)?.[1]);
    expect(Math.abs(free - threeTimes + MIB)).toBeLessThan(MIB / 4);
    expect((await profilectl(['status', '--all'], { variables })).stdout).toMatch(
      /^Disk +\d+\.\d MiB of 16\.0 MiB free$/m,
    );
    expect(await server.end()).toBe(0);
  }, 60_000);

  test('a disk full before a server starts: it says so and does not start; with space everything works again', async () => {
    const { disk, databasePath, secret, pending, variables } = stoppedWorld();
    disk.fill();
    expectSentence(await profilectl(['serve'], { variables }), /^No space is left on the disk of /);
    disk.empty();
    expect((await profilectl(['keys', 'edit', pending, '--name', 'Another'], { variables })).code).toBe(0);
    const server = await startServerProcess(variables);
    expect((await get(server, '/api/lookup/username/n7', secret)).status).toBe(200);
    expect(await server.end()).toBe(0);
    expectSound(databasePath);
  }, 60_000);

  test('a disk full when a server is killed: it restarts and serves what the write-ahead log contains', async () => {
    const { disk, databasePath, secret, pending, variables } = stoppedWorld();
    const killed = await startServerProcess(variables);
    expect((await profilectl(['keys', 'edit', pending, '--name', 'In the log'], { variables })).code).toBe(0);
    await killed.end('SIGKILL');
    disk.fill();
    const server = await startServerProcess(variables);
    expect((await get(server, '/api/lookup/username/n7', secret)).status).toBe(200);
    const shown = await profilectl(['keys', 'show', pending], { variables });
    expect(shown.stdout).toContain('In the log');
    expect(await server.end()).toBe(0);
    expectSound(databasePath);
  }, 60_000);

  test('a disk that becomes read-only: a running server continues, commands read, writes are refused with a sentence', async () => {
    const { disk, databasePath, secret, pending, variables, close } = await world();
    const server = await startServerProcess(variables);
    const mounted = tempFolder();
    for (const words of [
      ['mount', '--bind', disk.folder, mounted],
      ['mount', '-o', 'remount,bind,ro', mounted],
    ])
      expect(Bun.spawnSync(words).success).toBe(true);
    afterAll(() => Bun.spawnSync(['umount', '-l', mounted]));
    const readOnly = { ...variables, DATABASE_PATH: join(mounted, 'profiles.db') };
    const commands = writers(pending, 1);
    for (const [words, stdin] of commands) {
      const done = await profilectl(words, { variables: readOnly, ...(stdin !== undefined && { stdin }) });
      expectSentence(done, /can't be (used|read) \((SQLITE_READONLY|EROFS)/);
    }
    for (const words of [
      ['keys', 'list'],
      ['keys', 'show', pending],
      ['profiles', 'export'],
    ]) {
      expect(await profilectl(words, { variables: readOnly })).toMatchObject({ code: 0, stderr: '' });
    }
    expect((await profilectl(['status'], { variables: readOnly })).stdout).toContain('may only be read (EROFS)');
    // SQLite would leave out the CHECK constraints, and find nothing.
    expectSentence(await profilectl(['db', 'check'], { variables: readOnly }), /may only be read, so not all of it/);
    expect((await get(server, '/api/lookup/uid/7', secret)).status).toBe(200);
    expect(await server.end()).toBe(0);
    close();
    expectSound(databasePath);
  }, 60_000);
});
