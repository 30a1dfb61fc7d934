import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createLog } from '../../../server/observability/log.ts';
import { startLogTimer, startVacuumTimer } from '../../../server/upkeep/vacuum.ts';
import { isVacuumWanted, vacuumDatabase } from '../../../shared/files/disk.ts';
import { profilectlWords } from '../../support/cli.ts';
import { get, serverOn } from '../../support/http.ts';
import { keyFor } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine.ts';
import { eraseProfile, importLines } from '../../support/profiles.ts';
import { eventually, onBox, testClock, testDeps } from '../../support/world.ts';

const HOUR_MS = 3_600_000;

/** Three o'clock at night, by the machine's own time. */
const NIGHT_MS = new Date(2026, 0, 10, 3).getTime();

/** A database with profiles marked by `m<id>q`, one of which was erased. */
async function world(profiles = 3) {
  const clock = testClock(NIGHT_MS);
  const deps = { ...testDeps({ clock }), clock };
  const { secret } = await keyFor(deps, ['1000000/1d']);
  const ids = Array.from({ length: profiles }, (_, index) => index + 10);
  const bio = (id: number) => `m${id}q `.repeat(100);
  await importLines(
    deps,
    ids.map((id) => ({ id, username: `m${id}q`, customize: { bio: bio(id) } })),
  );
  eraseProfile(deps, 'm10q', onBox('operator'));
  const words = profilectlWords(['db', 'vacuum', '--json', '--db', deps.config.databasePath]);
  return { deps, clock, secret, words };
}

/** A program that records its start in a file, and then runs the code `then`. */
function program(folder: string, then: string): { words: string[]; runs: () => number } {
  const script = join(folder, 'program.ts');
  const noted = join(folder, 'runs');
  const note = `require('node:fs').appendFileSync(${JSON.stringify(noted)}, process.pid + '\\n');`;
  writeFileSync(script, `${note}\n${then}`);
  const runs = () => (existsSync(noted) ? readFileSync(noted, 'utf8').split('\n').length - 1 : 0);
  return { words: [process.execPath, '--no-env-file', script], runs };
}

const messages = ({ log }: { log: Record<string, unknown>[] }, pattern: RegExp) =>
  log.map(({ message }) => String(message)).filter((text) => pattern.test(text));

test('a server runs VACUUM once after an erasure, and answers every lookup while it runs', async () => {
  const { deps, secret, words } = await world(1_000);
  const server = await serverOn(deps, { vacuum: { command: words, everyMs: 5 } });
  let lookups = 0;
  while (messages(server, /vacuumed/).length === 0) {
    const answer = await get(server, `/api/lookup/uid/${11 + (lookups++ % 900)}`, secret);
    expect(answer.status).toBe(200);
  }
  expect(lookups).toBeGreaterThan(1);
  expect(messages(server, /vacuumed/)).toEqual([expect.stringMatching(/^The database was vacuumed in \d+ ms/)]);
  expect(isVacuumWanted(deps.db)).toBe(false);
  const files = readdirSync(deps.folder).filter((name) => name.startsWith('profiles.db'));
  for (const name of files) expect(readFileSync(join(deps.folder, name), 'latin1')).not.toContain('m10q');
  expect((await get(server, '/api/lookup/uid/11', secret)).status).toBe(200);
  await server.stop();
}, 30_000);

/** Runs the timer without a server; counts its checks and its log lines. */
function startAlone({ deps, clock }: Awaited<ReturnType<typeof world>>, words: readonly string[]) {
  let looks = 0;
  const nowMs = () => {
    looks++;
    return clock.nowMs();
  };
  const lines: string[] = [];
  const log = createLog('info', clock.nowMs, (line) => void lines.push(line));
  const vacuuming = startVacuumTimer({ ...deps, clock: { ...clock, nowMs } }, log, {
    command: words,
    everyMs: 1,
  });
  /** Resolves after many more checks. */
  const looked = async () => {
    const enough = looks + 20;
    await eventually(() => looks >= enough);
  };
  const logged = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  return { stop: vacuuming.stop, looked, logged };
}

test('no process is started unless a VACUUM is due, and none inherits the server’s environment', async () => {
  const w = await world();
  const { words, runs } = program(
    w.deps.folder,
    'console.log(JSON.stringify({ milliseconds: Object.keys(process.env).length }));',
  );
  const vacuuming = startAlone(w, words);
  await eventually(() => vacuuming.logged(/vacuumed in 0 ms/) > 0);
  await vacuuming.stop();
  vacuumDatabase(w.deps.db, w.clock);
  const before = runs();
  const idle = startAlone(w, words);
  await idle.looked();
  await idle.stop();
  expect(runs()).toBe(before);
});

test('VACUUM waits for the night', async () => {
  const w = await world();
  const { words, runs } = program(w.deps.folder, 'console.log(JSON.stringify({ milliseconds: 1 }));');
  w.clock.advance(2 * HOUR_MS);
  const vacuuming = startAlone(w, words);
  await vacuuming.looked();
  w.clock.advance(20 * HOUR_MS);
  await vacuuming.looked();
  expect(runs()).toBe(0);
  w.clock.advance(HOUR_MS);
  await eventually(() => runs() > 0);
  await vacuuming.stop();
});

test('a failed VACUUM is logged with its reason and tried again; one that is to be tried later is not logged', async () => {
  const w = await world();
  const refuse = `console.error('Warning: nothing.'); console.error('{"error":"No room."}'); process.exit(1);`;
  const failing = startAlone(w, program(w.deps.folder, refuse).words);
  await eventually(() => failing.logged(/could not be vacuumed\. No room\."/) > 1);
  await failing.stop();
  const { words, runs } = program(w.deps.folder, `console.error('{"error":"Busy."}'); process.exit(75);`);
  const before = runs();
  const busy = startAlone(w, words);
  await eventually(() => runs() > before + 1);
  await busy.stop();
  expect(busy.logged(/./)).toBe(0);
});

test('if an upgrade removed the program of a running server, the log says to restart it', async () => {
  const w = await world();
  const gone = startAlone(w, [join(w.deps.folder, 'none'), 'db', 'vacuum']);
  await eventually(() => gone.logged(/none can't be started \(ENOENT\)\. If .* upgrade, restart the server\./) > 0);
  await gone.stop();
}, 30_000);

test('a stopping server ends a running VACUUM, and logs no failure', async () => {
  const { deps } = await world();
  const { words, runs } = program(deps.folder, 'setInterval(() => {}, 1_000);');
  const server = await serverOn(deps, { vacuum: { command: words, everyMs: 1 } });
  await eventually(() => runs() === 1);
  await server.stop();
  const pid = Number(readFileSync(join(deps.folder, 'runs'), 'utf8'));
  expect(() => process.kill(pid, 0)).toThrow();
  expect(messages(server, /vacuum/)).toEqual([]);
});

test('a child process empties the write-ahead log when it has grown long, and no connection of the server does', async () => {
  const { deps, secret, words } = await world();
  const logBytes = () => statSync(`${deps.config.databasePath}-wal`).size;
  const server = await serverOn(deps, { vacuum: { command: words, everyMs: 60_000 } });
  deps.db.$client.run("INSERT INTO facts (name, value) VALUES ('of a test', ?)", ['x'.repeat(18_000_000)]);
  expect(logBytes()).toBeGreaterThan(18_000_000);
  await eventually(() => logBytes() < 1_000_000);
  expect((await get(server, '/api/lookup/uid/11', secret)).status).toBe(200);
  expect(messages(server, /write-ahead log/)).toEqual([]);
  await server.stop();
}, 30_000);

test('a write-ahead log that can no longer be looked at is logged, and ends no server', async () => {
  const { deps } = await world();
  const databasePath = join(dirname(deps.config.databasePath), 'unreadable.db');
  // Root may read everything, but nobody can follow a link to itself.
  symlinkSync(`${databasePath}-wal`, `${databasePath}-wal`);
  const lines: string[] = [];
  const log = createLog('info', deps.clock.nowMs, (line) => lines.push(line));
  const timer = startLogTimer({ config: { ...deps.config, databasePath } }, log, { command: [] });
  await timer.first;
  expect(lines.join()).toContain('could not be emptied');
  await timer.stop();
});

describe('as a process', () => {
  test('"profilectl serve" starts one VACUUM, by its own program', async () => {
    const { deps } = await world();
    // A place where it is three o'clock at night; POSIX counts zones backwards.
    const hour = (new Date().getUTCHours() + 21) % 24;
    const TZ = `Etc/GMT${hour <= 12 ? `+${hour}` : `-${24 - hour}`}`;
    const server = await startServerProcess({ DATABASE_PATH: deps.config.databasePath, TZ });
    await server.see(/The database was vacuumed in \d+ ms/);
    expect(await server.end()).toBe(0);
    expect(server.printed().match(/vacuum/g)).toHaveLength(1);
    expect(isVacuumWanted(deps.db)).toBe(false);
  });
});
