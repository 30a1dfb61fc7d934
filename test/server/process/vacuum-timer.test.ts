import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { thisProgram } from '../../../cli/service/same-program.ts';
import { vacuumCommand } from '../../../cli/service/serve.ts';
import { createLog } from '../../../server/observability/log.ts';
import { startVacuumTimer } from '../../../server/upkeep/vacuum.ts';
import { systemClock } from '../../../shared/clock.ts';
import { readErasures } from '../../../shared/db/erasures.ts';
import { MIGRATIONS } from '../../../shared/db/migrate.ts';
import { lockForImport } from '../../../shared/db-files/import-lock.ts';
import { vacuumDatabase } from '../../../shared/db-files/vacuum.ts';
import { onBox } from '../../support/actors.ts';
import { profilectlWords } from '../../support/cli.ts';
import { eraseProfile } from '../../support/erase.ts';
import { get, serverOn, type TestServer } from '../../support/http.ts';
import { importLines } from '../../support/import.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { nextVersion } from '../../support/machine/upgrade.ts';
import { keyFor } from '../../support/requests.ts';
import { testClock, testDeps } from '../../support/world.ts';

const HOUR_MS = 3_600_000;

/** A database with profiles marked by `m<id>q`, one of which was erased. */
async function world(profiles = 3) {
  const clock = testClock(systemClock.nowMs());
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

const messages = (server: TestServer, pattern: RegExp) =>
  server.log.map(({ message }) => String(message)).filter((text) => pattern.test(text));

async function until(isTrue: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error('That never came.');
    await Bun.sleep(1);
  }
}

test('a server runs VACUUM once after an erasure, and answers every lookup while it runs', async () => {
  const { deps, secret, words } = await world(1_000);
  const server = await serverOn(deps, undefined, { vacuum: { command: words, everyMs: 5 } });
  let lookups = 0;
  while (messages(server, /vacuumed/).length === 0) {
    const answer = await get(server, `/api/lookup/uid/${11 + (lookups++ % 900)}`, secret);
    expect(answer.status).toBe(200);
  }
  expect(lookups).toBeGreaterThan(1);
  expect(messages(server, /vacuumed/)).toEqual([expect.stringMatching(/^The database was vacuumed in \d+ ms/)]);
  expect(readErasures(deps.db.$client).tracesSinceMs).toBeNull();
  const files = readdirSync(deps.folder).filter((name) => name.startsWith('profiles.db'));
  for (const name of files) expect(readFileSync(join(deps.folder, name), 'latin1')).not.toContain('m10q');
  expect((await get(server, '/api/lookup/uid/11', secret)).status).toBe(200);
  await server.stop();
}, 30_000);

/** Runs the timer without a server; counts its checks and its log lines. */
function startAlone({ deps, clock }: Awaited<ReturnType<typeof world>>, words: readonly string[]) {
  let looks = 0;
  const monotonicMs = () => {
    looks++;
    return clock.monotonicMs();
  };
  const lines: string[] = [];
  const log = createLog('info', clock.nowMs, (line) => void lines.push(line));
  const vacuuming = startVacuumTimer({ ...deps, clock: { ...clock, monotonicMs } }, log, {
    command: words,
    everyMs: 1,
  });
  /** Resolves after many more checks. */
  const looked = async () => {
    const enough = looks + 20;
    await until(() => looks >= enough);
  };
  const logged = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  return { stop: vacuuming.stop, looked, logged };
}

/** The behaviour of the command while an import is open. */
const BUSY = `console.error('{"error":"An import is under way."}'); process.exit(75);`;

test('while an import is open, one process waits for it, and another one ten minutes later', async () => {
  const w = await world();
  const { words, runs } = program(w.deps.folder, `if (process.argv.at(-1) === '--wait') { ${BUSY} }`);
  const lock = await lockForImport(w.deps.config.databasePath);
  const vacuuming = startAlone(w, words);
  await until(() => runs() === 1);
  await vacuuming.looked();
  w.clock.advance(599_999);
  await vacuuming.looked();
  expect(runs()).toBe(1);
  w.clock.advance(1);
  await until(() => runs() === 2);
  await vacuuming.stop();
  lock.close();
  expect(vacuuming.logged(/./)).toBe(0);
});

test('VACUUM runs between imports that follow each other without a pause', async () => {
  const w = await world();
  const { databasePath } = w.deps.config;
  let imports = 0;
  let isDone = false;
  const importing = (async () => {
    while (!isDone) {
      // Between two imports only a process that already waits for the lock can acquire it.
      const lock = await lockForImport(databasePath);
      imports++;
      // Longer than a VACUUM waits that is started by hand.
      await Bun.sleep(2_000);
      lock.close();
    }
  })();
  await until(() => imports > 0);
  const vacuuming = startAlone(w, w.words);
  await until(() => vacuuming.logged(/was vacuumed/) === 1);
  const before = imports;
  await until(() => imports > before);
  isDone = true;
  await importing;
  await vacuuming.stop();
  expect(readErasures(w.deps.db.$client).tracesSinceMs).toBeNull();
}, 30_000);

test('no process is started unless a VACUUM is due, and none inherits the server’s environment', async () => {
  const w = await world();
  const { words, runs } = program(
    w.deps.folder,
    'console.log(JSON.stringify({ milliseconds: Object.keys(process.env).length }));',
  );
  const vacuuming = startAlone(w, words);
  await until(() => vacuuming.logged(/vacuumed in 0 ms/) > 0);
  await vacuuming.stop();
  vacuumDatabase(w.deps.db, w.clock);
  const before = runs();
  const idle = startAlone(w, words);
  await idle.looked();
  await idle.stop();
  expect(runs()).toBe(before);
});

test('a failed VACUUM is logged with its reason, and retried after an hour', async () => {
  const w = await world();
  const refuse = `console.error('Warning: nothing.'); console.error('{"error":"No room."}'); process.exit(1);`;
  const { words, runs } = program(w.deps.folder, refuse);
  const vacuuming = startAlone(w, words);
  const failures = () => vacuuming.logged(/could not be vacuumed\. No room\."/);
  await until(() => failures() === 1);
  await vacuuming.looked();
  expect([runs(), failures()]).toEqual([1, 1]);
  w.clock.advance(HOUR_MS);
  await until(() => failures() === 2);
  await vacuuming.stop();
  expect(runs()).toBe(2);
});

test('if an upgrade changed or removed the program of a running server, the log says to restart it', async () => {
  const w = await world();
  const { databasePath } = w.deps.config;
  const own = vacuumCommand(databasePath).vacuum?.command ?? [];
  const upgraded = startAlone(w, [...nextVersion().words, ...own.slice(own.indexOf('db'))]);
  const change = `from ${thisProgram()} to 99.0.0, schema ${MIGRATIONS.length + 1}`;
  const sentence = `could not be vacuumed. The program was changed while the server was running, ${change}; restart the server.`;
  await until(() => upgraded.logged(new RegExp(RegExp.escape(sentence))) === 1);
  await upgraded.stop();
  const gone = startAlone(w, [join(w.deps.folder, 'none'), 'db', 'vacuum']);
  await until(() => gone.logged(/none can't be started \(ENOENT\)\. If .* upgrade, restart the server\./) === 1);
  await gone.stop();
}, 30_000);

test('a stopping server ends a running VACUUM, and logs no failure', async () => {
  const { deps } = await world();
  const { words, runs } = program(deps.folder, 'setInterval(() => {}, 1_000);');
  const server = await serverOn(deps, undefined, { vacuum: { command: words, everyMs: 1 } });
  await until(() => runs() === 1);
  await server.stop();
  const pid = Number(readFileSync(join(deps.folder, 'runs'), 'utf8'));
  expect(() => process.kill(pid, 0)).toThrow();
  expect(messages(server, /vacuum/)).toEqual([]);
});

describe('as a process', () => {
  test('"profilectl serve" starts one VACUUM, by its own program', async () => {
    const { deps } = await world();
    const server = await startServerProcess({ DATABASE_PATH: deps.config.databasePath });
    await server.see(/The database was vacuumed in \d+ ms/);
    expect(await server.end()).toBe(0);
    expect(server.printed().match(/vacuum/g)).toHaveLength(1);
    expect(readErasures(deps.db.$client).tracesSinceMs).toBeNull();
  });
});
