import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { profilectlWords } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { keyFor } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine.ts';
import { tempFolder, testDeps } from '../../support/world.ts';
import { HAS_STRACE } from '../machine.ts';

// A power cut loses data that was written but not flushed (fdatasync), so the system calls of a real server show what
// would be lost at any moment. Skipped, and listed as such, if strace is missing or not permitted to trace.

type Call = { thread: number; begunAt: number; endedAt: number; isSync: boolean };

/** The successful writes and syncs of a file, by when they ended; times in seconds. */
function callsOn(path: string, trace: string): Call[] {
  const calls: Call[] = [];
  const open = new Map<number, Omit<Call, 'endedAt'>>();
  for (const line of trace.split('\n')) {
    const [, thread, time, rest = ''] = /^(\d+) +([\d.]+) (.*)$/.exec(line) ?? [];
    const [number, at] = [Number(thread), Number(time)];
    const begun = /^(pwrite64|fdatasync|fsync)\(\d+<([^>]*)>/.exec(rest);
    if (begun !== null && begun[2] === path) {
      open.set(number, { thread: number, begunAt: at, isSync: begun[1] !== 'pwrite64' });
    }
    const call = open.get(number);
    if (call === undefined || rest.endsWith('<unfinished ...>')) continue;
    open.delete(number);
    if (/= \d+$/.test(rest)) calls.push({ ...call, endedAt: at });
  }
  return calls;
}

/** Sends requests to a server for 3.5 seconds, kills it, and checks that its writes were flushed in time. */
async function expectSynced(): Promise<void> {
  const deps = testDeps();
  const { secret } = await keyFor(deps, ['100000/1d']);
  const trace = join(tempFolder(), 'trace');
  // -D: the server, not strace, is the child of this process.
  const strace = [
    'strace',
    '-D',
    '-f',
    '--seccomp-bpf',
    '-qq',
    '-y',
    '-ttt',
    '-e',
    'trace=pwrite64,fdatasync,fsync',
    '-o',
    trace,
  ];
  const server = await startServerProcess(
    { DATABASE_PATH: deps.config.databasePath },
    { words: [...strace, ...profilectlWords(['serve'])] },
  );
  const readyAt = Date.now() / 1000;
  const begunAt = performance.now();
  while (performance.now() - begunAt < 3_500) {
    expect((await get(server, '/api/lookup/uid/1', secret)).status).toBe(404);
    await Bun.sleep(20);
  }
  // Like a power cut, SIGKILL prevents a last save.
  const killedAt = Date.now() / 1000;
  await server.end('SIGKILL');
  const calls = callsOn(`${deps.config.databasePath}-wal`, readFileSync(trace, 'utf8'));
  const writes = calls.filter(({ isSync }) => !isSync);
  const syncs = calls.filter(({ isSync }) => isSync);
  const last = writes.at(-1)?.begunAt ?? 0;
  expect(last - (writes[0]?.begunAt ?? 0)).toBeGreaterThan(1.5);
  // The empty file is written before the first request, and the last second's writes may lack their sync.
  for (const { endedAt } of writes.filter((write) => write.begunAt > readyAt && write.endedAt < killedAt - 1)) {
    expect(syncs.some((sync) => sync.begunAt >= endedAt && sync.begunAt < endedAt + 1)).toBe(true);
  }
  // SQLite itself syncs the header once, when it creates the file.
  const writers = new Set(writes.map(({ thread }) => thread));
  expect(syncs.filter(({ thread }) => writers.has(thread)).length).toBeLessThanOrEqual(1);
}

test.skipIf(!HAS_STRACE)(
  'quota counts are flushed to the disk within a second, and no request waits for that',
  async () => {
    await expectSynced();
  },
  30_000,
);
