import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { childCommands } from '../../../../cli/service/serve.ts';
import { readUses } from '../../../../shared/backends/token-uses.ts';
import { DAY_MS, isoTime, systemClock } from '../../../../shared/clock.ts';
import { lockForFeed } from '../../../../shared/db-files/import-lock.ts';
import { FEED_LIMITS } from '../../../../shared/profiles/import/feed.ts';
import { get } from '../../../support/http.ts';
import { exportText, importLines, jsonLines } from '../../../support/import.ts';
import { issue } from '../../../support/keys.ts';
import { nextVersion } from '../../../support/machine/upgrade.ts';
import { expectRefused, feedCommandFor, sendLines, tokenFor } from '../../../support/portal/manage.ts';
import { pageWorld, serverOfPages } from '../../../support/portal/pages.ts';
import { drawHalf, drawQuarter, rounds, seededRandom } from '../../../support/rounds.ts';

async function feedWorld() {
  const world = pageWorld();
  const server = await serverOfPages(world, { feedCommand: feedCommandFor(world.access) });
  const token = tokenFor(world.access, { rights: ['profiles'] });
  const send = (query: string, ...lines: (object | string)[]) => sendLines(server, token, query, jsonLines(...lines));
  const stored = async () =>
    (await exportText(world.access))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  return { ...world, server, token, send, stored };
}

/** Each request starts a process, which takes a while on a busy machine. */
const LIMIT_MS = 30_000;

const ADA = { id: 7, username: 'ada', email: 'ada@example.org' };
const BEA = { id: 8, username: 'bea', email: 'bea@example.org' };

describe('all or nothing', () => {
  test(
    'lookups see imported lines at once, and sending the same lines again is harmless',
    async () => {
      const { access, server, send, stored } = await feedWorld();
      const { secret } = await issueFor(access);
      for (const imported of [2, 2]) {
        const answer = await send('', ADA, BEA);
        expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
        expect(await answer.json()).toMatchObject({ imported, deleted: 0, notThere: 0, refused: [], dropped: {} });
      }
      const found = await get(server, '/api/lookup/uid/8', secret);
      expect(await found.json()).toMatchObject({ username: 'bea' });
      for (const deleted of [1, 0]) {
        const answer = await send('?mode=merge', { id: 7, displayName: 'Ada L' }, { id: 8, deleted: true });
        expect(await answer.json()).toMatchObject({ imported: 1, deleted, notThere: 1 - deleted });
      }
      expect((await get(server, '/api/lookup/uid/8', secret)).status).toBe(404);
      expect((await stored()).find(({ id }) => id === 7)).toMatchObject({ ...ADA, displayName: 'Ada L' });
    },
    LIMIT_MS,
  );

  test(
    'the import process records the use of the token; if it can’t, the lines are still imported, and the log says so',
    async () => {
      const { access, server, token, send } = await feedWorld();
      const { sqlite } = access.sessions;
      sqlite.run('ALTER TABLE token_uses RENAME TO gone');
      expect((await send('', ADA)).status).toBe(200);
      expect(JSON.stringify(server.log)).toContain('The last use of a token could not be recorded.');
      sqlite.run('ALTER TABLE gone RENAME TO token_uses');
      expect(readUses(access.sessions).size).toBe(0);
      expect((await send('', ADA)).status).toBe(200);
      expect([...readUses(access.sessions).keys()]).toEqual([token.slice(4, 12)]);
    },
    LIMIT_MS,
  );

  test(
    'one bad line refuses the whole request, and is named',
    async () => {
      const { send, stored } = await feedWorld();
      const answer = await send('', ADA, { id: 8 }, '{');
      const body = (await answer.clone().json()) as { error: string; refused: object[] };
      expect([answer.status, answer.headers.get('x-error-code')]).toEqual([422, 'lines_refused']);
      expect(Object.keys(body)).toEqual(['error', 'refused']);
      expect(body.error).toBe('Some lines were refused; nothing was changed.');
      expect(body.refused).toMatchObject([
        { line: 2, id: 8, field: 'username' },
        { line: 3, id: null },
      ]);
      expect(await (await send('', {})).json()).toMatchObject({ error: 'The line was refused; nothing was changed.' });
      expect(await stored()).toEqual([]);
    },
    LIMIT_MS,
  );

  test(
    'more than 1 000 lines or 4 MiB are refused with the limit, with or without a Content-Length, and nothing is imported',
    async () => {
      const { server, token, stored } = await feedWorld();
      const { lines, bytes } = FEED_LIMITS.whole;
      const many = Array.from({ length: lines + 1 }, (_, at) => ({ id: at + 1, username: `user${at}` }));
      const long = Buffer.alloc(bytes + 1, 0x20);
      for (const body of [jsonLines(...many), long, new Blob([long]).stream()]) {
        const sentence = await expectRefused(await sendLines(server, token, '', body), 413, 'too_many_lines');
        expect(sentence).toContain('1 000 lines and 4 MiB');
      }
      expect(await stored()).toEqual([]);
    },
    LIMIT_MS,
  );

  test(
    'a request that is cut off changes nothing, wherever it is cut off',
    async () => {
      const { server, token, send, stored } = await feedWorld();
      const body = jsonLines(ADA, BEA);
      const lengths = [0, 10, jsonLines(ADA).length, body.length - 1];
      for (const length of drawQuarter(lengths, seededRandom('lengths of cut-off requests'))) {
        await cutOff(server.port, token, '', body, length);
        expect(await stored()).toEqual([]);
      }
      // They do not block the next one.
      await untilFree(() => send('', ADA, BEA));
      expect(await stored()).toHaveLength(2);
    },
    LIMIT_MS,
  );
});

describe('partial=1', () => {
  test(
    'bad lines are skipped and named, and the rest is imported',
    async () => {
      const { send, stored } = await feedWorld();
      const answer = await send('?partial=1', ADA, { id: 9 }, BEA);
      expect(answer.status).toBe(422);
      expect(await answer.json()).toMatchObject({
        error: 'Some lines were refused; the rest was imported.',
        imported: 2,
        refused: [{ line: 2, id: 9, field: 'username' }],
      });
      expect((await stored()).map(({ id }) => id)).toEqual([7, 8]);
      expect((await send('?partial=1', ADA, BEA)).status).toBe(200);
    },
    LIMIT_MS,
  );

  test(
    'a request without a Content-Length that is cut off has imported complete lines, in order',
    async () => {
      const { server, token, send, stored } = await feedWorld();
      const lines = Array.from({ length: 3_000 }, (_, at) => ({ id: at + 1, username: `user${at}` }));
      const body = jsonLines(...lines);
      await cutOff(server.port, token, '?partial=1', body, body.length - 20);
      const answer = await untilFree(() => send('?partial=1', { id: 5_000, username: 'last' }));
      expect(answer.status).toBe(200);
      const ids = (await stored()).map(({ id }) => id).filter((id) => id !== 5_000);
      expect(ids).toEqual(lines.slice(0, ids.length).map(({ id }) => id));
      expect(ids.length).toBeLessThan(3_000);
    },
    LIMIT_MS,
  );

  test(
    'a request with too many lines is refused with the limit',
    async () => {
      const { server, token } = await feedWorld();
      const body = '\n'.repeat(FEED_LIMITS.partial.lines + 1);
      const sentence = await expectRefused(await sendLines(server, token, '?partial=1', body), 413, 'too_many_lines');
      expect(sentence).toContain('50 000 lines and 64 MiB');
      const huge = { 'Content-Length': String(FEED_LIMITS.partial.bytes + 1) };
      expect(await headOnly(server.port, token, huge)).toContain('HTTP/1.1 413');
    },
    LIMIT_MS,
  );
});

test(
  'a token’s limits are enforced: e-mail addresses, and the number of erasures',
  async () => {
    const { access, server, stored } = await feedWorld();
    await importLines(access, [ADA]);
    const token = tokenFor(access, { name: 'careful', excludesContactFields: true, eraseLimit: 0 });
    const lines = jsonLines({ id: 7, username: 'ada' }, { ...ADA, email: 'eve@example.org' }, { id: 7, deleted: true });
    const answer = await sendLines(server, token, '?partial=1', lines);
    expect(await answer.json()).toMatchObject({
      imported: 1,
      refused: [
        { line: 2, id: 7, field: 'email', reason: 'email may not be changed with this token' },
        { line: 3, id: 7, field: 'deleted' },
      ],
    });
    expect(await stored()).toMatchObject([ADA]);
  },
  LIMIT_MS,
);

test(
  'as-of skips and counts profiles that were written or erased here since then; an impossible time is refused',
  async () => {
    const { clock, send, stored } = await feedWorld();
    await send('', ADA, { id: 9, username: 'gone' });
    const asOf = isoTime(systemClock.nowMs());
    while (isoTime(systemClock.nowMs()) === asOf) await Bun.sleep(1);
    // The import process has the system's clock.
    clock.jump(systemClock.nowMs() - clock.nowMs());
    await send('?mode=merge', { id: 7, banned: true }, { id: 9, deleted: true });
    for (const query of drawQuarter(['', '?partial=1', '?mode=merge&partial=1'], seededRandom('queries with as-of'))) {
      const path = `${query}${query === '' ? '?' : '&'}as-of=${asOf}`;
      const answer = await send(path, { ...ADA, banned: false }, BEA, { id: 9, username: 'gone' });
      expect([answer.status, await answer.json()]).toMatchObject([200, { imported: 1, newer: 2, newerIds: [7, 9] }]);
    }
    expect(await stored()).toMatchObject([{ ...ADA, banned: true }, BEA]);
    const day = (days: number) => isoTime(clock.nowMs() + days * DAY_MS);
    for (const time of [day(1), day(-41), 'yesterday', '']) {
      const sentence = await expectRefused(await send(`?as-of=${time}`, ADA), 400, 'bad_parameter');
      expect(sentence).toStartWith('as-of m');
    }
  },
  LIMIT_MS,
);

test(
  'one request at a time: another one is refused with Retry-After, even from another process',
  async () => {
    const { access, send, stored } = await feedWorld();
    const lock = lockForFeed(access.config.databasePath);
    // The import process ends without reading lines that don't fit into its pipe.
    const many = Array.from({ length: 5_000 }, (_, at) => ({ ...ADA, id: at + 10, username: `user${at}` }));
    for (const lines of [[ADA], ...Array<typeof many>(rounds(3)).fill(many)]) {
      const late = await send('?partial=1', ...lines);
      expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
      await expectRefused(late, 429, 'feed_running');
    }
    lock?.close();
    const answers = await Promise.all([send('', ADA), send('', BEA)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429]);
    expect(await stored()).toHaveLength(1);
  },
  LIMIT_MS,
);

test(
  'a body that is not JSON Lines, and a malformed query, are refused',
  async () => {
    const { server, token, send } = await feedWorld();
    for (const headers of [{ 'Content-Type': 'application/json' }, { 'Content-Encoding': 'gzip' }]) {
      await expectRefused(await sendLines(server, token, '', jsonLines(ADA), headers), 415, 'not_lines');
    }
    for (const body of drawQuarter(['', '\n', '[{"id":7}]'], seededRandom('bodies without lines'))) {
      await expectRefused(await sendLines(server, token, '', body), 422, 'lines_refused');
    }
    for (const query of ['?mode=other', '?partial=0', '?partial=1&partial=1', '?prune=1']) {
      await expectRefused(await send(query, ADA), 400, 'bad_parameter');
    }
  },
  LIMIT_MS,
);

test(
  'the old e-mail address is notified of a change, as after any import',
  async () => {
    const { access, send } = await feedWorld();
    await send('', ADA);
    await issue(access, { profile: 'ada' });
    await send('?mode=merge', { id: 7, email: 'new@example.org' });
    // A line without an e-mail address removes it, and the response says so.
    expect(await (await send('', { id: 7, username: 'ada' })).json()).toMatchObject({ imported: 1, unaddressed: 1 });
    const kinds = access.db.$client.query("SELECT kind FROM mails WHERE kind = 'address'").all();
    expect(kinds.length).toBeGreaterThan(0);
  },
  LIMIT_MS,
);

/** Imports an owner, and issues a key for it. */
async function issueFor(access: Parameters<typeof issue>[0]) {
  await importLines(access, [{ id: 1, username: 'owner', email: 'owner@example.org' }]);
  return issue(access, { profile: 'owner', permissions: ['api.lookup'] });
}

/** Begins a request, and closes the connection after `length` bytes of the body. */
function cutOff(port: number, token: string, query: string, body: string, length: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const size = query === '' ? `Content-Length: ${body.length}` : 'Transfer-Encoding: chunked';
  const part = body.slice(0, length);
  const sent = query === '' ? part : `${part.length.toString(16)}\r\n${part}\r\n`;
  const head = headOf(token, query, [size]);
  const socket = connect(port, '127.0.0.1', () => socket.write(head + sent, () => socket.destroy()));
  socket.on('close', () => resolve());
  return promise;
}

/** Sends only the head of a request, and returns the first chunk of the response. */
function headOnly(port: number, token: string, fields: Record<string, string>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  const socket = connect(port, '127.0.0.1', () => socket.write(headOf(token, '?partial=1', lines)));
  socket.once('data', (chunk) => {
    resolve(chunk.toString());
    socket.destroy();
  });
  return promise;
}

function headOf(token: string, query: string, fields: string[]): string {
  const lines = [`Authorization: Bearer ${token}`, 'Content-Type: application/jsonl', 'Host: a', ...fields];
  return `POST /manage/v1/profiles${query} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

/** Retries while an earlier request is still in progress. */
async function untilFree(send: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const answer = await send();
    if (answer.status !== 429) return answer;
    await Bun.sleep(10);
  }
}

test(
  'after an upgrade of a running server nothing is imported, and the response and the log say to restart it',
  async () => {
    const world = pageWorld();
    const token = tokenFor(world.access, { rights: ['profiles'] });
    const own = childCommands(world.access.config.databasePath).feedCommand ?? [];
    const upgraded = [...nextVersion().words, ...own.slice(own.indexOf('profiles'))];
    const programs: [string[], RegExp][] = [
      [
        upgraded,
        /The program was changed while the server was running, from .* to 99\.0\.0, schema \d+; restart the server\./,
      ],
      [['/nowhere/profilectl'], /\/nowhere\/profilectl can't be started \(ENOENT\)/],
    ];
    const random = seededRandom('queries after an upgrade');
    for (const [feedCommand, logged] of programs) {
      const server = await serverOfPages(world, { feedCommand });
      const queries = drawHalf(['', '?partial=1'], random);
      for (const query of queries) {
        const answer = await sendLines(server, token, query, jsonLines(ADA));
        expect([answer.headers.get('retry-after'), await answer.clone().json()]).toEqual([
          '60',
          {
            error: 'The service was upgraded and has to be restarted before it accepts profiles; nothing was changed.',
          },
        ]);
        await expectRefused(answer, 503, 'not_ready');
      }
      expect(server.log.filter(({ message }) => logged.test(String(message)))).toHaveLength(queries.length);
      await server.stop();
    }
    expect(await exportText(world.access)).toBe('');
  },
  LIMIT_MS,
);
