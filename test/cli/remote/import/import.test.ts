import { afterAll, describe, expect, mock, test } from 'bun:test';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { importToHost, type RemoteImport } from '../../../../cli/remote/import/import.ts';
import type { Deps } from '../../../../shared/deps.ts';
import { effectsOfBackend } from '../../../../shared/erasure/feed-policy.ts';
import { importProfiles } from '../../../../shared/profiles/import/import.ts';
import { exportText, importLines, jsonLines, namesById } from '../../../support/import.ts';
import { runCommand } from '../../../support/machine/command.ts';
import { BACKEND_ANSWER } from '../../../support/network/answers.ts';
import { feedCommandFor, tokenFor } from '../../../support/portal/manage.ts';
import { pageWorld, serverOfPages } from '../../../support/portal/pages.ts';
import { refusal } from '../../../support/refusal.ts';
import { drawQuarter, rounds, seededRandom } from '../../../support/rounds.ts';
import { byId, linesOf, modelOf, storedProfiles } from '../../../support/storage/import-model.ts';
import { tempFolder, testClock, testDeps } from '../../../support/world.ts';

const LIMIT_MS = 60_000;

const chance = seededRandom('remote imports');

/** A real server, and the token of a backend that may send profiles to it. */
async function feedWorld(changes: Parameters<typeof tokenFor>[1] = {}) {
  const world = pageWorld();
  const server = await serverOfPages(world, { feedCommand: feedCommandFor(world.access) });
  const token = tokenFor(world.access, { rights: ['profiles'], ...changes });
  return { access: world.access, server, host: { url: server.url, token } };
}

const world = await feedWorld();

/** A line with a createdAt, so that imports at different times have the same result. */
const profile = (id: number, username: string, more: object = {}) => ({
  id,
  username,
  createdAt: '2025-01-01T00:00:00.000Z',
  ...more,
});

/** Runs `profiles import` on a local database and on a remote server, both empty; returns what each printed and stored. */
async function both(text: string, ...flags: string[]) {
  const local = testDeps();
  const { access, server, host } = await feedWorld();
  const folder = tempFolder();
  const file = join(folder, 'profiles.jsonl');
  writeFileSync(file, text);
  const runs = [
    { deps: local, words: ['--db', local.config.databasePath], variables: {} },
    { deps: access, words: ['--host', server.url], variables: { PROFILECTL_TOKEN: host.token } },
  ].map(async ({ deps, words, variables }, at) => {
    const rejects = join(folder, `rejects${at}`);
    const all = ['profiles', 'import', file, '--rejects', rejects, ...words, ...flags];
    const { stderr, ...done } = await runCommand(all, { variables });
    const refused = statSync(rejects, { throwIfNoEntry: false }) ? readFileSync(rejects, 'utf8') : null;
    return { ...done, stderr: stderr.replace(`On ${server.url}:\n`, ''), refused, stored: await exportText(deps) };
  });
  const [here, there] = await Promise.all(runs);
  return { here, there, stderr: there?.stderr ?? '' };
}

describe('profiles import --host', () => {
  const lines = jsonLines(
    profile(1, 'ada', { email: 'ada@example.org', pronouns: 'she' }),
    { id: 2 },
    '',
    '{"id":3,',
    profile(4, 'bea', { links: [{ id: 'l1', name: 'x', link: 'javascript:alert(1)' }] }),
    { id: 5, deleted: true },
    profile(6, 'ADA'),
    '\ufeff{"id":9,"username":"marked"}',
    '[1]',
  );

  for (const flags of drawQuarter([[], ['--json'], ['--merge', '--json']], chance)) {
    test(
      `with ${flags.join(' ') || 'no flags'} prints, refuses and stores the same as a local import`,
      async () => {
        const { here, there } = await both(lines, ...flags);
        expect(there).toEqual(here as NonNullable<typeof here>);
        expect(there).toMatchObject({ code: 3, refused: expect.stringContaining('"ADA"') });
      },
      LIMIT_MS,
    );
  }

  test(
    'with --strict imports all or nothing',
    async () => {
      const clashing = jsonLines(profile(1, 'ada'), profile(2, 'Ada'));
      for (const [text, ...flags] of drawQuarter([[lines], [clashing, '--json']] as const, chance)) {
        const bad = await both(text, '--strict', ...flags);
        expect(bad.there).toEqual(bad.here as NonNullable<typeof bad.here>);
        expect(bad.there).toMatchObject({ code: 1, stored: '' });
      }
      const good = await both(jsonLines(profile(1, 'ada'), profile(2, 'bea')), '--strict');
      expect(good.there).toEqual(good.here as NonNullable<typeof good.here>);
      expect(good.there).toMatchObject({ code: 0, stderr: '' });
    },
    LIMIT_MS,
  );

  const run = (words: string[], stdin = jsonLines(profile(90, 'zoe'))) =>
    runCommand(['profiles', 'import', '-', '--host', world.server.url, ...words], {
      stdin,
      variables: { PROFILECTL_TOKEN: world.host.token },
    });

  test(
    'names the server on stderr, and imports the lines of a pipe that ends early',
    async () => {
      const whole = jsonLines(profile(20, 'eve'), profile(21, 'eva'));
      const done = await run([], whole.slice(0, -5));
      expect(done).toMatchObject({ code: 3, stdout: 'Imported 1 line; erased 0 profiles.\n' });
      expect(done.stderr).toStartWith(`On ${world.server.url}:\nline 2: the line is not valid JSON (column `);
    },
    LIMIT_MS,
  );

  test(
    'refuses --prune, too many lines for --strict, and an input without lines',
    async () => {
      const pruned = await run(['--prune', '--yes']);
      expect(pruned).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('--prune works only on the server itself'),
      });
      const many = Array.from({ length: 1_001 }, (_, at) => profile(at + 1_000, `many${at}`));
      const strict = await run(['--strict'], jsonLines(...many));
      expect(strict).toMatchObject({ code: 1, stderr: expect.stringContaining('at most 1000 lines and 4 MiB') });
      const empty = await run([], '\n\n');
      expect(empty).toMatchObject({ code: 1, stderr: expect.stringContaining('The input has no lines;') });
      expect(await exportText(world.access)).not.toContain('many');
    },
    LIMIT_MS,
  );

  test(
    'fails if the token is invalid or lacks the right, or no server answers',
    async () => {
      const { host } = await feedWorld({ rights: ['sign-ins'] });
      const source = [Buffer.from(jsonLines(profile(1, 'ada')))];
      const options = { merge: false, strict: false };
      const error = await refusal(importToHost(host, source, options));
      expect([error.code, error.message]).toEqual(['forbidden', expect.stringContaining('the "profiles" right')]);
      const stale = { ...world.host, token: `${world.host.token.slice(0, -1)}!` };
      expect((await refusal(importToHost(stale, source, options))).code).toBe('not_logged_in');
      const away = { ...world.host, url: 'http://127.0.0.1:1' };
      expect((await refusal(importToHost(away, source, options))).code).toBe('try_later');
    },
    LIMIT_MS,
  );
});

/** A server that imports in this process, unless `fail` returns a response instead. */
function quickServer(deps: Deps, fail: (request: Request) => Response | null = () => null) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const url = new URL(request.url);
      if (url.pathname.endsWith('/me')) return Response.json(BACKEND_ANSWER);
      const failed = fail(request);
      if (failed !== null) return failed;
      const strict = !url.searchParams.has('partial');
      const merge = url.searchParams.get('mode') === 'merge';
      const onKeys = effectsOfBackend({ name: 'backend', excludesContactFields: false, eraseLimit: 1_000 });
      const asOf = url.searchParams.get('as-of');
      const asOfMs = asOf === null ? {} : { asOfMs: Date.parse(asOf) };
      const options = { merge, strict, ...asOfMs, by: { kind: 'platform', name: 'backend' } as const, onKeys };
      const { details, ...done } = await importProfiles(deps, [await request.bytes()], options);
      const counts = { ...done, notThere: details.notThere, newerIds: details.newerIds };
      if (done.refused.length === 0) return Response.json(counts);
      const headers = { 'X-Error-Code': 'lines_refused' };
      return Response.json({ error: 'Some lines were refused.', ...counts }, { status: 422, headers });
    },
  });
  afterAll(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, token: 'plp_not-a-token' };
}

const BATCHES = { merge: false, strict: false, batchLimits: { lines: 3, bytes: 1_000_000 } } satisfies RemoteImport;

test('swapping names across many requests has the same result as a local import', async () => {
  const size = 12;
  const order = fc.shuffledSubarray(
    Array.from({ length: size }, (_, at) => at),
    { minLength: size, maxLength: size },
  );
  const kinds = fc.array(fc.constantFrom('swap', 'swap', 'swap', 'new', 'held', 'erase', 'bad', 'blank'), {
    minLength: size,
    maxLength: size,
  });
  await fc.assert(
    fc.asyncProperty(order, order, kinds, fc.boolean(), async (names, lineOrder, of, merge) => {
      // Profile 99 never gives up its name.
      const before = [...names.map((_, at) => profile(at + 1, `name${at}`)), profile(99, 'kept', { authId: 'a|99' })];
      const lines = lineOrder.map((at) => {
        const id = at + 1;
        if (of[at] === 'bad') return `{"id":${id},`;
        if (of[at] === 'blank') return ' ';
        if (of[at] === 'erase') return { id, deleted: true };
        if (of[at] === 'held') return profile(id, 'Kept');
        return profile(id, of[at] === 'new' ? `new${at}` : `NAME${names[at]}`, { authId: `a|${names[at]}` });
      });
      const [local, remote] = [testDeps(), testDeps()];
      for (const deps of [local, remote]) await importLines(deps, before);
      const source = [Buffer.from(jsonLines(...lines))];
      const here = await importLines(local, lines, { merge });
      const there = await importToHost(quickServer(remote), source, { ...BATCHES, merge });
      expect(await exportText(remote)).toBe(await exportText(local));
      expect(there).toEqual(here);
      for (const deps of [local, remote]) deps.db.$client.close();
    }),
    { numRuns: rounds(15) },
  );
}, 120_000);

test('lines are sent in requests of up to 10 000, and the result counts all of them', async () => {
  const deps = testDeps();
  let requests = 0;
  const server = quickServer(deps, () => {
    requests++;
    return null;
  });
  const source = [Buffer.from('{"id":1,"username":"ada"}\n'.repeat(10_001))];
  const { imported, refused } = await importToHost(server, source, { merge: false, strict: false });
  expect([requests, imported, refused]).toEqual([2, 10_001, []]);
});

test('a deferred line is applied without the alias that a later line has made the username of the profile', async () => {
  const deps = testDeps();
  const lines = [
    profile(1, 'ada'),
    profile(3, 'grace', { aliases: ['hopper', 'ada'] }),
    profile(3, 'hopper'),
    profile(1, 'countess'),
  ];
  const { imported, refused } = await importToHost(quickServer(deps), [Buffer.from(jsonLines(...lines))], {
    batchLimits: { lines: 3, bytes: 1e6 },
    strict: false,
    merge: false,
  });
  expect([imported, refused]).toEqual([4, []]);
  expect(await namesById(deps)).toEqual({ 1: ['countess'], 3: ['hopper', 'ada'] });
});

test('merged names are applied in the order of the lines, also if an earlier line of the profile waits for a name', async () => {
  const before = [
    profile(1, 'ada', { authId: 'auth|1' }),
    profile(2, 'bob'),
    profile(3, 'cora', { aliases: ['carla'] }),
  ];
  for (const lines of [
    // The first line waits for a name or an auth ID, and the second is valid only without it.
    [
      { id: 2, username: 'ada', aliases: ['eve'] },
      { id: 2, username: 'eve' },
      { id: 2, aliases: [] },
      profile(1, 'grace'),
    ],
    [
      { id: 2, username: 'eve', authId: 'auth|1' },
      { id: 2, aliases: ['eve'] },
      { id: 2, username: 'bea' },
    ],
    // The first line waits for a name, and the second has no profile without it.
    [profile(4, 'ada'), { id: 4, viewsCount: 2 }, profile(5, 'eve'), profile(1, 'grace')],
    // The first line waits in vain, and the second is valid only with it.
    [
      { id: 3, aliases: ['ada'] },
      { id: 3, username: 'carla', viewsCount: 8 },
      { id: 3, username: 'cora' },
    ],
  ]) {
    const [local, remote] = [testDeps(), testDeps()];
    for (const deps of [local, remote]) await importLines(deps, before);
    const here = await importLines(local, lines, { merge: true });
    const source = [Buffer.from(jsonLines(...lines))];
    const there = await importToHost(quickServer(remote), source, { ...BATCHES, merge: true });
    expect([there.imported, there.refused]).toEqual([here.imported, here.refused]);
    expect(await exportText(remote)).toBe(await exportText(local));
  }
});

test('every request has the time of --as-of, and skipped lines are counted over all requests', async () => {
  const clock = testClock();
  const deps = testDeps({ clock });
  const lines = Array.from({ length: 8 }, (_, at) => profile(at + 1, `name${at}`));
  const asOfMs = clock.nowMs();
  clock.advance(1_000);
  await importLines(deps, [profile(2, 'two'), profile(7, 'seven')]);
  const source = [Buffer.from(jsonLines(...lines))];
  const { imported, newer, details } = await importToHost(quickServer(deps), source, { ...BATCHES, asOfMs });
  expect([imported, newer, details.newerIds]).toEqual([6, 2, [2, 7]]);
  expect((await namesById(deps))[7]).toEqual(['seven']);
});

for (const merge of drawQuarter([true, false], chance)) {
  test(`the result does not depend on how lines are divided into requests (merge: ${merge})`, async () => {
    await fc.assert(
      fc.asyncProperty(linesOf(merge), fc.integer({ min: 1, max: 6 }), async (given, max) => {
        const deps = testDeps();
        // Otherwise the display name of a new profile would be the username of whichever of its lines is applied first.
        const lines = given.map((line) => (line.deleted ? line : { displayName: 'Any', ...line }));
        const numbered = lines.map((line, number) => ({ ...line, number }));
        const options = { strict: false, merge, batchLimits: { lines: max, bytes: 1e6 } };
        const outcome = await importToHost(quickServer(deps), [Buffer.from(jsonLines(...lines))], options);
        const refused = outcome.refused.map(({ line }) => line - 1);
        const whole = modelOf(numbered, merge);
        if (whole.isPossible && whole.faulty.length === 0) expect(refused).toEqual([]);
        const rest = numbered.filter(({ number }) => !refused.includes(number));
        const model = modelOf(rest, merge);
        expect([model.isPossible, model.faulty]).toEqual([true, []]);
        expect(await storedProfiles(deps)).toEqual(byId(model.profiles.values()));
        expect(outcome.imported).toBe(rest.filter((line) => line.deleted === undefined).length);
        deps.db.$client.close();
      }),
      { numRuns: rounds(80) },
    );
  }, 120_000);
}

describe('a server that fails or misbehaves', () => {
  const source = () => [Buffer.from(jsonLines(...Array.from({ length: 9 }, (_, at) => profile(at + 1, `user${at}`))))];
  const tries = { max: 4, firstPauseMs: 1, maxPauseMs: 2 };
  const answer =
    (status: number, headers: Record<string, string> = {}) =>
    () =>
      Response.json({ error: 'Not now.' }, { status, headers });

  test('is sent the lines again after a pause if the failure may be temporary', async () => {
    const deps = testDeps();
    const failures = [answer(503), answer(429, { 'Retry-After': '1' }), answer(502)];
    const warnings: string[] = [];
    const host = quickServer(deps, () => failures.shift()?.() ?? null);
    const onWarning = (sentence: string) => void warnings.push(sentence);
    const outcome = await importToHost(host, source(), { ...BATCHES, tries, onWarning });
    expect([outcome.imported, outcome.refused]).toEqual([9, []]);
    expect(warnings).toEqual([
      'Not now. Sending the same lines again in 0.001 s.',
      'Not now. Sending the same lines again in 1 s.',
      'Not now. Sending the same lines again in 0.002 s.',
    ]);
  });

  test('ends the import if it fails too often, with an error that says how many lines were imported', async () => {
    for (const [good, code, sentence] of [
      [0, 'try_later', 'Not now.'],
      [2, 'done_in_part', 'Not now; 6 lines were imported.'],
    ] as const) {
      let asked = 0;
      const host = quickServer(testDeps(), () => (asked++ < good ? null : answer(503)()));
      const error = await refusal(importToHost(host, source(), { ...BATCHES, tries }));
      expect([error.code, error.message, asked]).toEqual([code, sentence, good + tries.max]);
    }
  });

  test('is not sent the lines again if the failure is permanent, or Retry-After is more than five minutes', async () => {
    for (const [status, headers] of [
      [503, { 'Retry-After': '3600' }],
      [403, { 'X-Error-Code': 'insufficient_scope' }],
      [500, { 'X-Error-Code': 'internal' }],
    ] as const) {
      let asked = 0;
      const host = quickServer(testDeps(), () => {
        asked++;
        return answer(status, { ...headers })();
      });
      await refusal(importToHost(host, source(), BATCHES));
      expect([status, asked]).toEqual([status, 1]);
    }
  });

  test('has its reasons printed on one line each, without control characters', async () => {
    const refused = [{ line: 1, field: 'name\n', reason: '\u001b[31mNo\nline 2: a line of its own' }];
    const host = quickServer(testDeps(), () => Response.json({ imported: 2, refused }));
    const onRefused = mock();
    const { details } = await importToHost(host, source(), { ...BATCHES, onRefused });
    const said = { field: 'name ', reason: '[31mNo line 2: a line of its own' };
    expect(onRefused).toHaveBeenCalledWith(expect.objectContaining(said));
    expect(JSON.stringify(details)).not.toContain('\\n');
  });

  test('is refused if its response does not match the schema', async () => {
    const all = { imported: 3, deleted: 0, notThere: 0, refused: [] };
    for (const body of [
      { ...all, imported: '3' },
      { ...all, deleted: -1 },
      { ...all, newerIds: ['7'] },
      { ...all, refused: [{ line: 4, reason: 'beyond the lines that were sent' }] },
      { ...all, refused: ['line 1'] },
      {},
    ]) {
      const host = quickServer(testDeps(), () => Response.json(body));
      expect((await refusal(importToHost(host, source(), BATCHES))).message).toContain('not from Profile Lookup');
    }
  });
});

/** A proxy that cuts connections after this number of bytes from the client, either at once or when the response begins. */
async function cuttingProxy(port: number, cuts: ({ after: number; isAnswered: boolean } | null)[]): Promise<number> {
  const server = createServer((client) => {
    const cut = cuts.shift() ?? null;
    const upstream = connect(port, '127.0.0.1');
    let sent = 0;
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    client.on('data', (bytes) => {
      sent += bytes.length;
      upstream.write(bytes);
      if (cut !== null && !cut.isAnswered && sent >= cut.after) end();
    });
    upstream.on('data', (bytes) => {
      if (cut?.isAnswered === true && sent >= cut.after) end();
      else client.write(bytes);
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  afterAll(() => server.close());
  return (server.address() as { port: number }).port;
}

test(
  'connections that break while lines are sent, or before the response, do not change the result',
  async () => {
    const { access, server, host } = await feedWorld();
    const size = 90;
    const before = Array.from({ length: size }, (_, at) => profile(at + 1, `name${at}`));
    // Each profile gets the name of the one that is 40 lines away.
    const lines = before.map(({ id }) => profile(id, `name${(id + 39) % size}`, { displayName: 'x'.repeat(200) }));
    const local = testDeps();
    for (const deps of [local, access]) await importLines(deps, before);
    const here = await importLines(local, lines);
    const port = await cuttingProxy(server.port, [
      { after: 5_000, isAnswered: false },
      { after: 5_000, isAnswered: true },
      { after: 20_000, isAnswered: false },
      null,
    ]);
    const warnings: string[] = [];
    const there = await importToHost({ ...host, url: `http://127.0.0.1:${port}` }, [Buffer.from(jsonLines(...lines))], {
      ...BATCHES,
      batchLimits: { lines: 30, bytes: 1e6 },
      onWarning: (sentence) => void warnings.push(sentence),
    });
    expect(await namesById(access)).toEqual(await namesById(local));
    expect([there.imported, there.refused]).toEqual([here.imported, []]);
    expect(warnings.filter((sentence) => sentence.includes('was closed')).length).toBeGreaterThanOrEqual(3);
  },
  LIMIT_MS,
);
