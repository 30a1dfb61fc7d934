import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import fc from 'fast-check';
import { type ArrivalPace, createArrivalMeter, FEED_PACE } from '../../../../server/process/feed/arrival.ts';
import { systemClock } from '../../../../shared/clock.ts';
import { sendRaw, takeApart } from '../../../support/http.ts';
import { exportText, jsonLines } from '../../../support/import.ts';
import { feedCommandFor, sendLines, tokenFor } from '../../../support/portal/manage.ts';
import { pageWorld, serverOfPages } from '../../../support/portal/pages.ts';
import { drawHalf, seededRandom } from '../../../support/rounds.ts';

/** A short span, so that the tests are fast. */
const PACE: ArrivalPace = { bytes: 1_000, spanMs: 1_000 };

const LIMIT_MS = 30_000;

const ADA = { id: 7, username: 'ada' };

async function feedWorld(feedPace = PACE) {
  const world = pageWorld();
  // The time between two bytes is measured by the real clock.
  const clock = { ...world.clock, monotonicMs: systemClock.monotonicMs };
  const options = { feedCommand: feedCommandFor(world.access), feedPace };
  const server = await serverOfPages({ ...world, clock }, options);
  const token = tokenFor(world.access, { rights: ['profiles'] });
  return { ...world, server, token, open: (query: string) => openFeed(server.port, token, query) };
}

test('a body must arrive at 1 KiB/s over any 20 s', () => {
  expect(FEED_PACE.bytes / FEED_PACE.spanMs).toBe(1024 / 1000);
  expect(FEED_PACE.spanMs).toBe(20_000);
});

test('a body is too slow at the end of the first span in which too few bytes arrived', () => {
  const arrival = fc.record({ afterMs: fc.integer({ min: 0, max: 12 }), bytes: fc.integer({ min: 0, max: 12 }) });
  fc.assert(
    fc.property(fc.array(arrival, { maxLength: 40 }), (steps) => {
      const pace = { bytes: 10, spanMs: 8 };
      const meter = createArrivalMeter(pace);
      const arrived: { atMs: number; bytes: number }[] = [];
      let [nowMs, endsAtMs] = [0, pace.spanMs];
      for (const { afterMs, bytes } of steps) {
        nowMs += afterMs;
        if (nowMs >= endsAtMs) break;
        arrived.push({ atMs: nowMs, bytes });
        endsAtMs = meter(nowMs, bytes);
        // A naive search: the first future moment at which the span before it has too few bytes.
        let first = Math.max(nowMs, pace.spanMs);
        while (brought(arrived, first - pace.spanMs, first) >= pace.bytes) first++;
        expect(endsAtMs).toBe(first);
      }
    }),
  );
});

test(
  'only a request whose token may send lines gets a longer idle timeout',
  async () => {
    const { server, open } = await feedWorld(FEED_PACE);
    const feed = await open('');
    const held = ['/manage/v1/profiles', '/manage/v1/token?/manage/v1/profiles', '/manage/v1/me?/manage/v1/profiles'];
    await Promise.all(
      held.map((target) => sendRaw(server, `POST ${target} HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\nname`)),
    );
    feed.send(jsonLines(ADA));
    feed.finish();
    expect(takeApart(await feed.closed).status).toBe(200);
  },
  LIMIT_MS,
);

function brought(arrived: readonly { atMs: number; bytes: number }[], afterMs: number, untilMs: number): number {
  return arrived.reduce((sum, { atMs, bytes }) => sum + (atMs > afterMs && atMs <= untilMs ? bytes : 0), 0);
}

describe('a feed whose connection', () => {
  const queries = seededRandom('queries of slow feeds');
  for (const [how, drip] of [
    ['goes silent', null],
    ['drips', ' '],
  ] as const) {
    for (const query of drawHalf(['', '?partial=1'], queries)) {
      test(
        `${how} is ended${query === '' ? '' : ' with partial=1'}, says why, and does not block the next one`,
        async () => {
          const { access, server, token, open } = await feedWorld();
          const feed = await open(query);
          feed.send(`${jsonLines(ADA)}{"id":8,`);
          const timer = drip === null ? undefined : setInterval(() => feed.send(drip), 50);
          const { status, headers, body } = takeApart(await feed.closed);
          clearInterval(timer);
          expect([status, headers.get('x-error-code')]).toEqual([408, 'lines_cut_off']);
          expect(JSON.parse(body)).toEqual({
            error: `Less than 1 KiB/s arrived over 20 s; ${query === '' ? 'nothing was changed' : 'complete batches may have been imported'}.`,
          });
          expect(await exportText(access)).toBe('');
          expect((await sendLines(server, token, query, jsonLines(ADA))).status).toBe(200);
          expectOneInfo(server.log);
        },
        LIMIT_MS,
      );
    }
  }

  test(
    'ends is logged once, as information and not as an error of the server',
    async () => {
      const { server, token, open } = await feedWorld(FEED_PACE);
      for (const query of drawHalf(['', '?partial=1'], queries)) {
        const another = async () => (await sendLines(server, token, query, jsonLines(ADA))).status;
        let feed = await open(query);
        feed.send(jsonLines(ADA));
        // Other feeds are refused while this one is read; this one is refused if another is being read just then.
        while ((await another()) !== 429) {
          if (!feed.isClosed()) continue;
          feed = await open(query);
          feed.send(jsonLines(ADA));
        }
        server.log.length = 0;
        feed.end();
        while ((await another()) === 429) await Bun.sleep(10);
        expectOneInfo(server.log);
      }
    },
    LIMIT_MS,
  );

  test(
    'goes silent has, with partial=1, imported the batches that were complete by then',
    async () => {
      const { access, open } = await feedWorld();
      const feed = await open('?partial=1');
      let lines = 0;
      const storedIds = async () =>
        (await exportText(access))
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line).id);
      while ((await storedIds()).length === 0) {
        const some = Array.from({ length: 100 }, () => ({ id: ++lines, username: `user${lines}` }));
        feed.send(jsonLines(...some));
        await Bun.sleep(10);
      }
      expect(takeApart(await feed.closed).status).toBe(408);
      const ids = await storedIds();
      expect(ids).toEqual(Array.from(ids, (_, at) => at + 1));
    },
    LIMIT_MS,
  );

  test(
    'is slow but fast enough imports all of its lines',
    async () => {
      const { access, open } = await feedWorld();
      const feed = await open('?partial=1');
      for (let id = 1; id <= 20; id++) {
        feed.send(jsonLines({ id, username: `user${id}`, displayName: 'x'.repeat(PACE.bytes / 2) }));
        await Bun.sleep(PACE.spanMs / 10);
      }
      feed.finish();
      expect(takeApart(await feed.closed).status).toBe(200);
      expect((await exportText(access)).split('\n')).toHaveLength(21);
    },
    LIMIT_MS,
  );
});

/** Expects a log without errors, and with one line about the cut-off request. */
function expectOneInfo(log: readonly Record<string, unknown>[]): void {
  expect(log.filter(({ level }) => level !== 'info')).toEqual([]);
  const logged = log.filter(({ message }) => String(message).startsWith('A request with profiles was cut off. '));
  expect(logged).toHaveLength(1);
  expect(log.filter(({ requestId, status }) => requestId === logged[0]?.requestId && status === 408)).toHaveLength(1);
}

/** A feed on its own connection. */
type Feed = {
  send: (text: string) => void;
  /** Sends the end of the body, after which the server answers. */
  finish: () => void;
  /** Closes the connection in the middle of the body. */
  end: () => void;
  /** The response (Latin-1), once the connection is closed. */
  closed: Promise<string>;
  isClosed: () => boolean;
};

async function openFeed(port: number, token: string, query: string): Promise<Feed> {
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  let answer = '';
  const socket = connect(port, '127.0.0.1');
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.on('close', () => resolve(answer));
  const fields = [`Authorization: Bearer ${token}`, 'Content-Type: application/jsonl', 'Host: a', 'Connection: close'];
  socket.write(
    `POST /manage/v1/profiles${query} HTTP/1.1\r\n${fields.join('\r\n')}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  return {
    send: (text) => void socket.write(`${text.length.toString(16)}\r\n${text}\r\n`),
    finish: () => void socket.write('0\r\n\r\n'),
    end: () => socket.destroy(),
    closed,
    isClosed: () => socket.destroyed,
  };
}
