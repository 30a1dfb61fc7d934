import { describe, expect, test } from 'bun:test';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createLog, openLogOutput } from '../../../server/observability/log.ts';
import { LOG_LEVELS } from '../../../shared/config/config.ts';
import { mountSmallDisk, NO_MOUNT } from '../../faults/machine.ts';
import { get, startTestServer } from '../../support/http.ts';
import { prepare } from '../../support/keys.ts';
import { tempFolder } from '../../support/world.ts';
import { getRaw } from '../raw.ts';

const server = await startTestServer();
const secret = await prepare(server.deps);
const MIB = 1_048_576;
const FIELDS = ['time', 'level', 'requestId', 'key', 'method', 'route', 'status', 'milliseconds', 'address'];

describe('the line of a request', () => {
  test('has these fields, the path of the route, and the id that the client received', async () => {
    const answer = await get(server, '/api/lookup/username/Ada?x=1', secret);
    const line = server.log.at(-1);
    expect(Object.keys(line ?? {})).toEqual(FIELDS);
    expect(line).toEqual({
      time: '2026-01-01T00:00:00.000Z',
      level: 'info',
      requestId: answer.headers.get('x-request-id'),
      key: secret.slice(4, 12),
      method: 'GET',
      route: '/api/lookup/username/:username',
      status: 400,
      milliseconds: 0,
      address: '127.0.0.1',
    });
  });

  test('contains no text that the client sent', async () => {
    const canary = 'Canary"\\';
    const encoded = encodeURIComponent(canary);
    const lines = [
      `Authorization: Bearer ${secret}`,
      `X-Canary: ${canary}`,
      `X-Request-Id: ${canary}`,
      `User-Agent: ${canary}`,
    ];
    for (const target of [`/${encoded}`, `/api/${encoded}`, `/api/lookup/username/${encoded}?${encoded}=${encoded}`]) {
      await getRaw(server, target, lines);
    }
    await getRaw(server, '/api/key', [`Authorization: ${canary}`, `X-Forwarded-For: ${canary}`]);
    await getRaw(server, '/healthz', [], 'PROPFIND');
    expect(server.log.at(-1)).toMatchObject({ method: 'OTHER', route: '/healthz' });
    const text = JSON.stringify(server.log);
    for (const sign of ['anary', 'PROPFIND', secret.slice(13)]) expect(text).not.toContain(sign);
  });

  test('has no route for an unknown path, and no key for a bad one', async () => {
    await get(server, '/nothing', secret);
    expect(server.log.at(-1)).toMatchObject({ route: null, key: null, status: 404 });
    await get(server, '/api/nothing', 'plk_guess');
    expect(server.log.at(-1)).toMatchObject({ route: null, key: null, status: 401 });
    await get(server, '/api/nothing', secret);
    expect(server.log.at(-1)).toMatchObject({ route: null, key: secret.slice(4, 12), status: 404 });
  });
});

describe('levels', () => {
  for (const [index, level] of LOG_LEVELS.entries()) {
    test(level, () => {
      const lines: string[] = [];
      const log = createLog(
        level,
        () => 0,
        (line) => void lines.push(JSON.parse(line).level),
      );
      log.request({ requestId: 'a', key: null, method: 'GET', template: null, address: '' }, 200, 1);
      for (const of of ['info', 'warn', 'error'] as const) log.event(of, 'Something happened.');
      const wanted = ['info', 'info', 'warn', 'error'].filter((of) => LOG_LEVELS.indexOf(of as 'info') >= index);
      expect(lines).toEqual(wanted);
    });
  }
});

test('the cause of an error is logged without secrets and e-mail addresses', () => {
  const lines: string[] = [];
  const log = createLog(
    'info',
    () => 0,
    (line) => void lines.push(line),
  );
  const cause = new Error(`no room for ada@example.org, who has ${secret}`, { cause: new Error('<bob@example.org>') });
  log.event('error', 'A request failed.', { requestId: 'r-1', cause });
  expect(lines[0]).toContain('no room for');
  expect(lines[0]).toContain(secret.slice(0, 12));
  for (const sign of ['@example', 'ada@', 'bob', secret.slice(13)]) expect(lines[0]).not.toContain(sign);
});

describe('writing', () => {
  test('everything arrives, in order', async () => {
    const path = join(tempFolder(), 'log');
    const descriptor = openSync(path, 'w');
    const output = openLogOutput(descriptor);
    const lines = Array.from({ length: 5_000 }, (_, index) => `{"line":${index}}\n`);
    for (const [index, line] of lines.entries()) {
      output.write(line);
      if (index % 500 === 0) await Promise.resolve();
    }
    await output.drain();
    expect(readFileSync(path, 'utf8')).toBe(lines.join(''));
    closeSync(descriptor);
    await output.drain();
  });

  /** A process that logs to its stdout, and prints `done` on stderr. */
  function logger(body: string) {
    const script = `
      const { openLogOutput } = await import('${join(import.meta.dir, '../../../server/observability/log.ts')}');
      const output = openLogOutput(1);
      ${body}
      console.error('done');
      process.exit(0);`;
    return Bun.spawn([process.execPath, '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  }

  test('a reader that closes the pipe ends the log, not the server', async () => {
    const child = logger(`
      for (let turn = 0; turn < 200; turn++) { output.write('x'.repeat(10_000) + '\\n'); await Bun.sleep(1); }
      await output.drain();`);
    await child.stdout.cancel();
    expect(await new Response(child.stderr).text()).toBe('done\n');
    expect(await child.exited).toBe(0);
  });

  test('a reader that stops reading loses lines, but costs no memory or time; stopping waits a second for it', async () => {
    const child = logger(`
      const before = process.memoryUsage.rss();
      for (let turn = 0; turn < 200_000; turn++) output.write('x'.repeat(1_000) + '\\n');
      await output.drain();
      if (process.memoryUsage.rss() - before > 100_000_000) console.error('too much memory');`);
    expect(await new Response(child.stderr).text()).toBe('done\n');
    expect(await child.exited).toBe(0);
  });

  test.skipIf(NO_MOUNT !== null)(
    'a full disk loses no line until 4 MiB are queued, and never half a line; dropped lines are counted in the log',
    async () => {
      const disk = mountSmallDisk(8 * MIB);
      const path = join(disk.folder, 'log');
      const descriptor = openSync(path, 'w');
      const output = openLogOutput(descriptor);
      disk.fill(4_096);
      const line = (index: number) => `{"line":${index},"text":"${'x'.repeat(1_000)}"}\n`;
      for (let index = 0; index < 10; index++) output.write(line(index));
      // Until the first of them are written and the disk has no room for the rest.
      while (statSync(path).size === 0) await output.drain();
      for (let index = 10; index < 5_000; index++) output.write(line(index));
      disk.empty();
      let written: string[] = [];
      while (!written.at(-2)?.includes('dropped')) {
        await output.drain();
        written = readFileSync(path, 'utf8').split('\n');
      }
      const kept = written.slice(0, -2);
      expect(kept.length).toBeGreaterThan(4_000);
      expect(kept.map((text) => `${text}\n`)).toEqual(kept.map((_, index) => line(index)));
      const message = `${5_000 - kept.length} log lines were dropped because they could not be written.`;
      expect(JSON.parse(written.at(-2) as string)).toEqual({ level: 'warn', message });
      closeSync(descriptor);
    },
  );

  test('dropped lines are reported once somebody reads again', async () => {
    const child = logger(`
      for (let turn = 0; turn < 6_000; turn++) output.write('x'.repeat(1_000) + '\\n');
      await output.drain(); await output.drain();`);
    const text = await new Response(child.stdout).text();
    expect(text).toMatch(
      /\{"level":"warn","message":"\d+ log lines were dropped because they could not be written\."\}\n$/,
    );
    expect(await child.exited).toBe(0);
  });
});
