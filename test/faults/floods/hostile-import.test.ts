import { expect, test } from 'bun:test';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { runCommand } from '../../cli/commands.ts';
import { cleanEnvironment, PROJECT, profilectlWords } from '../../support/cli.ts';
import { startServerProcess } from '../../support/machine.ts';
import { tempFolder } from '../../support/world.ts';

// Malicious and long files, imported with the real command.

const MIB = 1_048_576;
const folder = tempFolder();
let files = 0;

/** A running process's peak memory in bytes; Linux only. The usage reported at its end would include its parent's. */
function peakOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}

/** A process's peak memory in bytes, once it has ended. */
async function peakBytesOf(child: { pid: number; exited: Promise<unknown> }): Promise<number> {
  let peak = 0;
  const timer = setInterval(() => {
    try {
      peak = Math.max(peak, peakOf(child.pid));
    } catch {
      // It has ended.
    }
  }, 10);
  await child.exited;
  clearInterval(timer);
  return peak;
}

/** Writes a file piece by piece, so that this process never holds all of it. */
function fileOf(pieces: Iterable<string>): string {
  const path = join(folder, `${++files}.jsonl`);
  const file = openSync(path, 'w');
  for (const piece of pieces) writeSync(file, piece);
  closeSync(file);
  return path;
}

/** Imports a file into a new database. `peak` is the most memory that the command took, in bytes. */
async function importFile(path: string, ...words: string[]) {
  const db = join(folder, `${++files}`, 'profiles.db');
  const child = Bun.spawn(profilectlWords(['profiles', 'import', path, '--json', ...words, '--db', db]), {
    env: cleanEnvironment(),
    cwd: PROJECT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, peak] = await Promise.all([child.stdout.text(), child.stderr.text(), peakBytesOf(child)]);
  const code = await child.exited;
  return { code, stderr, result: stdout === '' ? null : JSON.parse(stdout), peak, db };
}

/** Imports these lines into a new database in this process, with what it then exports. */
async function importAndExport(lines: readonly string[]) {
  const db = ['--db', join(folder, `${++files}`, 'profiles.db')];
  const stdin = lines.map((line) => `${line}\n`).join('');
  const { code, stdout } = await runCommand(['profiles', 'import', '-', '--json', ...db], { stdin });
  const exported = await runCommand(['profiles', 'export', ...db]);
  return { code, result: JSON.parse(stdout), stored: exported.stdout.trimEnd().split('\n') };
}

type Dropped = { field: string; reason: string; count: number; ids: number[] };

const good = (id: number) => `{"id":${id},"username":"u${id}"}\n`;

test('a line of 64 MiB is never held in memory, and is refused with its line number', async () => {
  const piece = 'x'.repeat(MIB);
  function* huge() {
    yield `${good(1)}{"id":3,"username":"u3","displayName":"`;
    for (let count = 0; count < 64; count++) yield piece;
    yield `"}\n${good(2)}`;
  }
  const usual = await importFile(fileOf([good(1), 'x\n', good(2)]));
  const { code, result, peak } = await importFile(fileOf(huge()));
  const reason = 'the line is longer than 256 KiB';
  expect([code, result.imported, result.refused]).toEqual([3, 2, [{ line: 2, id: null, field: null, reason }]]);
  // Less than the line's own size: it was never held.
  expect(peak - usual.peak).toBeLessThan(58 * MIB);
}, 60_000);

test('the memory of imports and exports does not grow with the file', async () => {
  const text = 'x'.repeat(60_000);
  function* long() {
    for (let id = 1; id <= 1_200; id++) yield `{"id":${id},"username":"u${id}","customize":{"text":"${text}"}}\n`;
  }
  const path = fileOf(long());
  const usual = await importFile(fileOf([good(1)]));
  // The compiler, SQLite and garbage take some 90 MiB more than with one line; the file held at once would take another 69.
  const { result, peak, db } = await importFile(path);
  expect(result.imported).toBe(1_200);
  expect(peak - usual.peak).toBeLessThan(125 * MIB);
  const child = Bun.spawn(profilectlWords(['profiles', 'export', '--db', db]), {
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let length = 0;
  const read = async () => {
    for await (const chunk of child.stdout) length += chunk.length;
  };
  const [exportPeak] = await Promise.all([peakBytesOf(child), read()]);
  expect(length).toBeGreaterThan(1_200 * text.length);
  expect(exportPeak - usual.peak).toBeLessThan(45 * MIB);
}, 120_000);

test('a request in chunks of one byte takes little more memory than its bytes', async () => {
  const DATABASE_PATH = join(folder, `${++files}`, 'profiles.db');
  const server = await startServerProcess({ DATABASE_PATH });
  const { stdout } = await runCommand(['tokens', 'add', 'backend', '--right', 'profiles', '--db', DATABASE_PATH]);
  const lines = Array.from({ length: 500 }, (_, at) =>
    good(at + 1).replace('}', `,"displayName":"${'x'.repeat(4_000)}"}`),
  );
  const head = `POST /manage/v1/profiles HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${stdout.trim()}\r\nContent-Type: application/jsonl\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
  const before = peakOf(server.pid);
  const socket = connect(server.port, '127.0.0.1');
  socket.write(`${head}${Array.from(lines.join(''), (byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`);
  expect(await new Response(socket).text()).toContain('"imported":500,');
  expect(peakOf(server.pid) - before).toBeLessThan(100 * MIB);
  await server.end();
}, 60_000);

test('a line nested 100 000 levels deep is refused with one sentence, in any known field, and the other lines are imported', async () => {
  const deep = (open: string, close: string) => open.repeat(100_000) + close.repeat(100_000);
  const lines = [
    deep('[', ']'),
    deep('{"a":', '}').replace('{"a":}', '{"a":1}'),
    `{"id":3,"username":"u3","customize":${deep('{"a":', '}').slice(0, 250_000)}`,
    `{"id":4,"username":"u4","discordClean":{"a":${deep('[', ']')}}}`,
    `{"id":5,"username":"u5","badges":${deep('[', ']')}}`,
    `{"id":6,"username":"u6","nobody knows":${deep('[', ']')}}`,
    `{"id":7,"username":"u7","links":[{"id":"l","name":"n","link":${deep('[', ']')}}]}`,
  ];
  const { code, stderr, result, peak } = await importFile(fileOf([good(9), ...lines.map((line) => `${line}\n`)]));
  process.stderr.write(`hostile nesting: ${Math.round(peak / MIB)} MiB\n`);
  expect(code).toBe(3);
  expect(stderr).not.toMatch(/RangeError|this is a bug|stack/i);
  const refused = result.refused.map(({ line }: { line: number }) => line);
  // An unknown field and a bad link are dropped, however deep they are.
  expect(refused).toEqual([2, 3, 4, 5, 6]);
  for (const { reason } of result.refused) expect(reason.length).toBeLessThan(120);
  expect(result.imported).toBe(3);
  expect(peak).toBeLessThan(400 * MIB);
}, 30_000);

test('names that mean something to JavaScript are treated as data or as unknown fields', async () => {
  const lines = [
    '{"id":1,"username":"__proto__","aliases":["constructor","toString"],"displayName":"hasOwnProperty"}',
    '{"id":2,"username":"two","__proto__":{"banned":true,"email":"x@example.org"},"constructor":1,"toString":2}',
    '{"id":3,"username":"three","customize":{"__proto__":{"a":1},"constructor":null},"badges":[{"name":"b","enabled":true,"__proto__":{"name":"c"}}]}',
    '{"id":4,"username":"four","assets":{"__proto__":"https://x"},"links":[{"id":"l","name":"n","link":"x","__proto__":{"title":"t"}}]}',
  ];
  const { code, result, stored } = await importAndExport(lines);
  expect(code).toBe(0);
  expect(result).toMatchObject({ imported: 4, refused: [] });
  const dropped = result.dropped.map(({ field, reason, count, ids }: Dropped) => [field, reason, count, ids]);
  expect(dropped.sort()).toEqual([
    ['__proto__', 'is unknown', 1, [2]],
    ['badges.__proto__', 'is unknown', 1, [3]],
    ['constructor', 'is unknown', 1, [2]],
    ['links.__proto__', 'is unknown', 1, [4]],
    ['toString', 'is unknown', 1, [2]],
  ]);
  const [one, two, three, four] = stored;
  expect(one).toContain('"username":"__proto__","aliases":["constructor","toString"]');
  expect(two).toContain('"email":null');
  expect(two).toContain('"banned":false');
  expect(three).toContain('"badges":[{"name":"b","enabled":true}]');
  expect(three).toContain('"customize":{"__proto__":{"a":1},"constructor":null}');
  expect(four).toContain('"assets":{"__proto__":"https://x"}');
  expect(four).not.toContain('title');
}, 30_000);

test('the last value of a repeated field counts, as in other JSON parsers, and nothing of the first is stored', async () => {
  const lines = [
    '{"id":1,"id":2,"username":"first","username":"last","banned":true,"banned":false}',
    '{"id":2,"username":"x","customize":{"a":1,"a":{"b":2}},"customize":{"a":3,"a":4},"id":3}',
  ];
  const { code, result, stored } = await importAndExport(lines);
  expect([code, result.imported]).toEqual([0, 2]);
  const profiles = stored.map((line) => JSON.parse(line));
  expect(profiles.map(({ id, username, banned, customize }) => ({ id, username, banned, customize }))).toEqual([
    { id: 2, username: 'last', banned: false, customize: {} },
    { id: 3, username: 'x', banned: false, customize: { a: 4 } },
  ]);
}, 30_000);

test('an import with 250 MB of blank lines, 200 000 bad ones and 100 000 different unknown fields takes less than 300 MiB of memory and exits with 3', async () => {
  function* bad() {
    for (let line = 0; line < 2_500; line++) yield `${' '.repeat(99_999)}\n`;
    for (let block = 0; block < 100; block++) yield `${'x\n'.repeat(2_000)}{"id":1,"username":"a","f${block}":1}\n`;
    for (let block = 0; block < 25; block++) {
      const fields = Array.from({ length: 4_000 }, (_, at) => `"${'k'.repeat(50)}${block}-${at}":1`);
      yield `{"id":1,"username":"a",${fields.join(',')}}\n`;
    }
  }
  const path = fileOf(bad());
  const child = Bun.spawn(profilectlWords(['profiles', 'import', path, '--db', join(folder, 'bad', 'profiles.db')]), {
    env: cleanEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [stderr, peak] = await Promise.all([child.stderr.text(), peakBytesOf(child)]);
  expect(await child.exited).toBe(3);
  process.stderr.write(`bad lines: ${Math.round(peak / MIB)} MiB\n`);
  expect(stderr).toEndWith('200000 lines were refused; the rest was imported.\n');
  expect(stderr).toContain('\n… and 199980 more; --rejects keeps them, --json lists them\n');
  expect(peak).toBeLessThan(300 * MIB);
}, 30_000);
