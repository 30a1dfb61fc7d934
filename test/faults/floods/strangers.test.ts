import { describe, expect, spyOn, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { blockOf } from '../../../server/http/transport.ts';
import type { Reader } from '../../../shared/db/reader.ts';
import { faultOf } from '../../../shared/errors.ts';
import { newSecret } from '../../../shared/keys/secret.ts';
import { prepareVerifier } from '../../../shared/keys/verify.ts';
import { systemRandom } from '../../../shared/random.ts';
import { countFailure, createFailureThrottle } from '../../../shared/throttle.ts';
import { get, startTestServer } from '../../support/http.ts';
import { issue, keyIn, prepare } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine.ts';
import { insertProfile } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { readingOf } from '../../support/storage.ts';
import { testDeps } from '../../support/world.ts';

// What many strangers can do at once, for a long time, or at random. test/server/wire.test.ts has single requests.

const server = await startTestServer();
const secret = await prepare(server.deps);
const MIB = 1_048_576;

/** The memory that a process now uses, in bytes; Linux only. */
function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** One response on a raw connection. */
type WireAnswer = { status: number; head: string; body: string };

/** A connection with pipelined requests. `answers` waits for that many responses, or for the end. */
function openConnection(port: number): {
  socket: Socket;
  send: (text: string) => void;
  answers: (count: number) => Promise<WireAnswer[]>;
} {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let isClosed = false;
  let wake = () => {};
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    wake();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
    wake();
  });
  const answers = async (count: number): Promise<WireAnswer[]> => {
    for (;;) {
      const found = readAnswers(text);
      if (found.length >= count || isClosed) return found;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { socket, send: (more) => void socket.write(Buffer.from(more, 'latin1')), answers };
}

/** The complete responses at the start of a string, each with a Content-Length or without a body. */
function readAnswers(text: string): WireAnswer[] {
  const answers: WireAnswer[] = [];
  for (let from = 0; ; ) {
    const end = text.indexOf('\r\n\r\n', from);
    if (end === -1) return answers;
    const head = text.slice(from, end);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    if (text.length < end + 4 + length) return answers;
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
    answers.push({ status, head, body: text.slice(end + 4, end + 4 + length) });
    from = end + 4 + length;
  }
}

const HEAD = 'GET /healthz HTTP/1.1\r\nHost: a\r\n';

/** Expects one of our whole responses, a redirect, or the runtime's own refusal, which has no body. */
function expectLegal({ status, head, body }: { status: number; head: string; body: string }): void {
  if (status === 200) {
    expect(head).toContain('\r\nContent-Type: application/json');
    JSON.parse(body);
  } else if (body === '') expect([302, 304, 400, 413, 414, 431, 505]).toContain(status);
  else {
    expect([400, 401, 403, 404, 405, 414, 429]).toContain(status);
    expect(JSON.parse(body)).toEqual({ error: expect.any(String) });
    expect(head).toContain('\r\nCache-Control: no-store');
    expect(head).toMatch(/\r\nX-Request-Id: [0-9A-Za-z]{12}-[0-9a-z]+/);
  }
}

describe('noise', () => {
  const requests = [
    'GET /api/lookup/username/Ada HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer SECRET\r\n\r\n',
    'GET http://a/api/key?x=%00 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer SECRET\r\nIf-None-Match: "x", *\r\n\r\n',
    'GET /api/lookup/authid/%ED%A0%80%2F HTTP/1.1\r\nHost: [::1]:80\r\nX-Forwarded-For: 1.2.3.4, x\r\n\r\n',
    'POST /api/key HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc',
    'GET /api/leaderboard?limit=1&limit=2 HTTP/1.0\r\nHost: a\r\n\r\n',
  ];
  const change = fc.record({
    at: fc.nat(300),
    cut: fc.integer({ min: 0, max: 12 }),
    put: fc.oneof(
      fc.constantFrom(
        '\0',
        '\r',
        '\n',
        '\r\n',
        '\r\n\r\n',
        ' ',
        '\t',
        ':',
        '%',
        '%00',
        '%2F',
        '%c0%af',
        '\xff',
        '\x7f',
        ';',
        ',',
        '?',
        '#',
        '\\',
      ),
      fc.constantFrom(
        'Host: b\r\n',
        'Transfer-Encoding: chunked\r\n',
        'Content-Length: 5\r\n',
        'Authorization: x\r\n',
        ' HTTP/1.1\r\n',
        'A'.repeat(17_000),
        // The beginning of a TLS handshake.
        '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03',
      ),
      fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    ),
  });
  const mutant = fc
    .tuple(
      fc.array(fc.constantFrom(...requests), { minLength: 1, maxLength: 3 }),
      fc.array(change, { minLength: 1, maxLength: 4 }),
    )
    .map(([parts, changes]) =>
      changes.reduce((text, { at, cut, put }) => text.slice(0, at) + put + text.slice(at + cut), parts.join('')),
    );

  test('of any kind in, around or between requests gets legal responses or none, and the next request is served', async () => {
    const runs = rounds(300);
    const statuses: Record<number, number> = {};
    await fc.assert(
      fc.asyncProperty(mutant, async (text) => {
        server.deps.clock.advance(61_000);
        const connection = openConnection(server.port);
        // The secret is inserted only here, because counterexamples are printed.
        connection.send(text.replaceAll('SECRET', secret));
        // Ends the connection, so that the server does not wait for the rest of a partial request.
        connection.socket.end();
        for (const answer of await connection.answers(Number.POSITIVE_INFINITY)) {
          statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
          expectLegal(answer);
        }
      }),
      { numRuns: runs },
    );
    process.stderr.write(`noise: ${runs} connections, answers ${JSON.stringify(statuses)}\n`);
    expect((await get(server, '/api/lookup/uid/7', secret)).status).toBe(200);
  }, 60_000);
});

describe('many requests', () => {
  test('a thousand pipelined requests are answered in order, good and bad', async () => {
    const connection = openConnection(server.port);
    const count = 1_000;
    const one = (at: number) =>
      `GET /api/lookup/uid/${at % 3 === 0 ? 7 : at + 100} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\n\r\n`;
    connection.send(Array.from({ length: count }, (_, at) => one(at)).join(''));
    const answers = await connection.answers(count);
    expect(answers.map(({ status }) => status)).toEqual(
      Array.from({ length: count }, (_, at) => (at % 3 === 0 ? 200 : 404)),
    );
    for (const answer of answers) expectLegal(answer);
    connection.socket.destroy();
  });

  test('an oversized header is cut off, whatever follows it, and a hundred of them leave no memory in use', async () => {
    const bombed = await startServerProcess({ DATABASE_PATH: testDeps().config.databasePath });
    const bomb = async () => {
      const connection = openConnection(bombed.port);
      connection.send(`${HEAD}X-A: ${'a'.repeat(2 * MIB)}\r\n\r\n${HEAD}\r\n`);
      const [answer, ...others] = await connection.answers(Number.POSITIVE_INFINITY);
      expect([answer?.status ?? 431, answer?.body ?? '', others]).toEqual([431, '', []]);
    };
    await bomb();
    const before = residentBytes(bombed.pid);
    for (let turn = 0; turn < 100; turn++) await bomb();
    expect(residentBytes(bombed.pid) - before).toBeLessThan(100 * MIB);
    expect((await get(bombed, '/healthz')).status).toBe(200);
    expect(await bombed.end()).toBe(0);
  });

  test('the throttle counts a flood from 40 000 addresses in limited memory, and refuses each that fails too often', () => {
    let now = 0;
    const throttle = createFailureThrottle({ monotonicMs: () => now });
    let largest = 0;
    let refused = 0;
    for (let address = 0; address < 40_000; address++) {
      const [high, low] = [address >>> 8, address & 255];
      const block = blockOf(address % 2 === 0 ? `2001:db8:${address.toString(16)}::1` : `10.0.${high}.${low}`);
      for (let turn = 0; turn < (address % 8 > 5 ? 31 : 1); turn++) {
        if (faultOf(() => countFailure(throttle, block)) !== null) refused++;
      }
      largest = Math.max(largest, throttle.latest.size + throttle.former.size);
      now += 0.1;
    }
    expect(refused).toBe(10_000);
    expect(largest).toBeLessThan(2_049);
  });
});

describe('keys that do not work are indistinguishable', () => {
  test('by the work for each: one read and one hash, but neither for a mistyped key, which anybody can recognise', async () => {
    const { deps } = server;
    const kinds = new Map<string, string>();
    for (const [index, state] of (['pending', 'rejected', 'withdrawn'] as const).entries()) {
      insertProfile(deps.db, { id: 500 + index });
      kinds.set(state, newSecret(await keyIn(state, deps, `user${500 + index}`), systemRandom));
    }
    insertProfile(deps.db, { id: 510 });
    const revoked = await issue(deps, { profile: 'user510' });
    deps.db.$client.run(
      "UPDATE api_keys SET state = 'revoked', secret_hash = NULL, decided_at = decided_at WHERE identifier = ?",
      [revoked.identifier],
    );
    kinds.set('revoked', revoked.secret);
    kinds.set('unknown', newSecret('00000000', systemRandom));
    kinds.set('another secret of an Active key', newSecret(secret.slice(4, 12), systemRandom));
    let reads = 0;
    const { reader } = readingOf(deps);
    const counting = {
      ...reader,
      sqlite: {
        filename: '',
        prepare: (text: string) => {
          const statement = reader.sqlite.prepare(text);
          const get = (...of: string[]) => {
            reads++;
            return statement.get(...of);
          };
          return { get };
        },
      },
    } as unknown as Reader;
    const verify = prepareVerifier(counting, deps.clock);
    for (const [kind, text] of kinds) {
      reads = 0;
      const hashes = spyOn(Bun.SHA256, 'hash');
      expect([kind, verify(text), reads, hashes.mock.calls.length]).toEqual([kind, null, 1, 1]);
      hashes.mockRestore();
    }
  });
});
