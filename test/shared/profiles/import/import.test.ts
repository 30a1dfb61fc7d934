import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAsItIs } from '../../../../shared/db/connect.ts';
import { AppError } from '../../../../shared/errors.ts';
import { importProfiles } from '../../../../shared/profiles/import/import.ts';
import { MAX_LINE_BYTES } from '../../../../shared/profiles/line.ts';
import { issue } from '../../../support/keys.ts';
import { exportText, IMPORT_OPTIONS, importLines, jsonLines, namesById } from '../../../support/profiles.ts';
import { testClock, testDeps } from '../../../support/world.ts';

async function profile(deps: Parameters<typeof exportText>[0], id: number) {
  const profiles = Bun.JSONL.parse(await exportText(deps)) as Record<string, unknown>[];
  return profiles.find((found) => found.id === id) ?? {};
}

describe('a line', () => {
  test('sets absent fields to their defaults, createdAt to the time of the import', async () => {
    const deps = testDeps({ clock: testClock(Date.parse('2026-02-03T04:05:06.789Z')) });
    const result = await importLines(deps, [{ id: 7, username: 'Ada' }]);
    expect(result).toMatchObject({ imported: 1, deleted: 0, pruned: 0, refused: [], dropped: [] });
    expect(await exportText(deps)).toBe(
      '{"id":7,"username":"Ada","aliases":[],"authId":null,"email":null,"displayName":"Ada","badges":[],"assets":{},' +
        '"customize":{},"discordID":null,"discordClean":{},"banned":false,"viewsCount":0,"followersCount":0,' +
        '"showFollowersCount":true,"showOnLeaderboard":true,"createdAt":"2026-02-03T04:05:06.789Z","links":[]}\n',
    );
  });

  test('replaces the whole profile, including links and names', async () => {
    const deps = testDeps();
    const link = { id: 'l', name: 'n', link: 'x' };
    await importLines(deps, [
      { id: 7, username: 'Ada', aliases: ['a', 'b'], email: 'a@example.org', links: [link, link] },
    ]);
    await importLines(deps, [{ id: 7, username: 'ada', aliases: ['b'], links: [{ ...link, title: 't' }] }]);
    expect(await profile(deps, 7)).toMatchObject({
      username: 'ada',
      displayName: 'ada',
      aliases: ['b'],
      email: null,
      links: [{ ...link, title: 't' }],
    });
  });

  test('that merges changes only the fields that it contains', async () => {
    const deps = testDeps({ clock: testClock() });
    const before = {
      id: 7,
      username: 'Ada',
      aliases: ['a', 'b'],
      authId: 'x|1',
      email: 'a@example.org',
      viewsCount: 5,
      showOnLeaderboard: false,
    };
    await importLines(deps, [{ ...before, banned: true, links: [{ id: 'l', name: 'n', link: 'x' }] }]);
    const full = await profile(deps, 7);
    for (const [change, changed] of [
      [{ viewsCount: 6 }, { viewsCount: 6 }],
      [{ username: 'Countess' }, { username: 'Countess' }],
      [{ aliases: ['B', 'c'] }, { aliases: ['B', 'c'] }],
      [{ authId: null }, { authId: null }],
      [{ links: [{ id: 'l', name: 'n', link: 'y' }] }, { links: [{ id: 'l', name: 'n', link: 'y' }] }],
      [{ links: [] }, { links: [] }],
      [{ customize: { a: 1 } }, { customize: { a: 1 } }],
      [{ showOnLeaderboard: true }, { showOnLeaderboard: true }],
    ] as const) {
      await importLines(deps, [{ id: 7, ...change }], { merge: true });
      expect(await profile(deps, 7)).toEqual(Object.assign(full, changed));
    }
  });

  test('that merges needs a username only for a new profile', async () => {
    const deps = testDeps();
    const { refused } = await importLines(deps, [{ id: 7 }, { id: 8, username: 'new' }, { id: 8, viewsCount: 2 }], {
      merge: true,
    });
    expect(refused).toMatchObject([
      { line: 1, reason: 'username is missing, and there is no profile 7 to merge the line into' },
    ]);
    expect(await profile(deps, 8)).toMatchObject({ username: 'new', viewsCount: 2 });
  });

  test('that merges makes an alias the username, which is then no longer an alias; a repeated name is left out and counted', async () => {
    const deps = testDeps();
    await importLines(deps, [{ id: 7, username: 'Ada', aliases: ['lovelace', 'countess'] }]);
    expect(await importLines(deps, [{ id: 7, username: 'Lovelace' }], { merge: true })).toMatchObject({ dropped: [] });
    expect(await namesById(deps)).toEqual({ 7: ['Lovelace', 'countess'] });
    const { dropped } = await importLines(deps, [{ id: 7, aliases: ['x', 'LOVELACE', 'X', 'y'] }], { merge: true });
    expect(dropped).toEqual([{ field: 'aliases', reason: 'repeats another name of the profile', count: 2, ids: [7] }]);
    expect(await namesById(deps)).toEqual({ 7: ['Lovelace', 'x', 'y'] });
  });

  test('without an address, or with a bad one, removes it, also if it merges; null is as good as absent', async () => {
    const deps = testDeps();
    const ada = { id: 7, username: 'Ada', email: 'ada@example.org', authId: 'a|1', viewsCount: 3, banned: true };
    for (const merge of [true, false]) {
      await importLines(deps, [ada]);
      const line = {
        id: 7,
        username: 'Ada',
        email: '',
        authId: '\0',
        viewsCount: null,
        displayName: null,
        banned: null,
      };
      const { dropped, refused } = await importLines(deps, [line], { merge });
      expect([dropped.map(({ field, count }) => [field, count]), refused]).toEqual([
        [
          ['authId', 1],
          ['email', 1],
        ],
        [],
      ]);
      const defaults = { email: null, authId: null, viewsCount: 0, displayName: 'Ada', banned: true };
      expect(await profile(deps, 7)).toMatchObject(defaults);
    }
  });

  test('that is bad is reported with its number, and the rest is imported', async () => {
    const deps = testDeps();
    const heard: number[] = [];
    const lines = [{ id: 1, username: 'one' }, '', 'nonsense', '   ', { id: 2 }, { id: 3, username: 'three' }];
    const result = await importLines(deps, lines, { onRefused: ({ line }) => heard.push(line) });
    expect(result.refused).toMatchObject([
      { line: 3, id: null, field: null, reason: 'the line is not valid JSON' },
      { line: 5, id: 2, field: 'username', reason: 'username is missing' },
    ]);
    expect(heard).toEqual([3, 5]);
    expect(await namesById(deps)).toEqual({ 1: ['one'], 3: ['three'] });
  });

  test('that erases deletes the profile and ends its keys; erasing a missing profile is not an error', async () => {
    const deps = testDeps({ clock: testClock() });
    await importLines(deps, [{ id: 7, username: 'Ada', email: 'ada@example.org' }]);
    const { identifier } = await issue(deps, { profile: 'Ada' });
    const result = await importLines(deps, [
      { id: 7, deleted: true },
      { id: 8, deleted: true },
    ]);
    expect(result).toMatchObject({ imported: 0, deleted: 1, refused: [] });
    const key = deps.db.$client
      .query('SELECT state, profile_id, name FROM api_keys WHERE identifier = ?')
      .get(identifier);
    expect(key).toEqual({ state: 'revoked', profile_id: null, name: '' });
  });

  test('that changes a profile does not change its keys', async () => {
    const deps = testDeps({ clock: testClock() });
    await importLines(deps, [{ id: 7, username: 'Ada', email: 'ada@example.org' }]);
    const { identifier } = await issue(deps, { profile: 'Ada' });
    await importLines(deps, [{ id: 7, username: 'Countess' }]);
    const key = deps.db.$client.query('SELECT state, profile_id FROM api_keys WHERE identifier = ?').get(identifier);
    expect(key).toEqual({ state: 'Active', profile_id: 7 });
  });
});

describe('a file', () => {
  test('may begin with a byte order mark, use CRLF, and lack the last line end', async () => {
    const deps = testDeps();
    const path = join(deps.folder, 'in.jsonl');
    writeFileSync(path, '\ufeff{"id":1,"username":"one"}\r\n\r\n{"id":2,"username":"two"}');
    expect(await importProfiles(deps, path, IMPORT_OPTIONS)).toMatchObject({ imported: 2, refused: [] });
  });

  test('may arrive in pieces of any size, cut inside characters', async () => {
    const deps = testDeps();
    const bytes = Buffer.from(jsonLines({ id: 1, username: 'さくら' }, { id: 2, username: '🎈' }));
    const pieces = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
    expect(await importProfiles(deps, pieces, IMPORT_OPTIONS)).toMatchObject({ imported: 2, refused: [] });
    expect(await namesById(deps)).toEqual({ 1: ['さくら'], 2: ['🎈'] });
  });

  test('has lines of at most 256 KiB; longer lines are skipped without being held in memory', async () => {
    const deps = testDeps();
    const line = (id: number, length: number) => {
      const [head, tail] = [`{"id":${id},"username":"u${id}","note":"`, '"}'];
      return head + 'x'.repeat(length - head.length - tail.length) + tail;
    };
    const piece = Buffer.alloc(1_000_000, 'x');
    function* source() {
      yield Buffer.from(`${line(1, MAX_LINE_BYTES - 1000)}\r\n${line(2, MAX_LINE_BYTES + 1)}\n`);
      for (let count = 0; count < 20; count++) yield piece;
      yield Buffer.from(`\n{"id":4,"username":"u4"}\n`);
    }
    const result = await importProfiles(deps, source(), IMPORT_OPTIONS);
    expect(result.imported).toBe(2);
    expect(result.refused).toMatchObject(
      [2, 3].map((number) => ({ line: number, reason: 'the line is longer than 256 KiB' })),
    );
  });

  test('may be an array, with elements on any number of lines, cut anywhere', async () => {
    const lines = [
      { id: 1, username: 'a', customize: { x: ['\\"]', { y: '[,' }] } },
      { id: 2, username: '🎈', links: [{ id: 'l', name: 'n', link: 'x' }] },
    ];
    const wanted = testDeps({ clock: testClock() });
    await importLines(wanted, lines);
    for (const text of [JSON.stringify(lines), `\ufeff \r\n${JSON.stringify(lines, null, 2)}\n\n`]) {
      const bytes = Buffer.from(text);
      for (const size of [1, 7, bytes.length]) {
        const deps = testDeps({ clock: testClock() });
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        );
        expect(await importProfiles(deps, pieces, IMPORT_OPTIONS)).toMatchObject({ imported: 2, refused: [] });
        expect(await exportText(deps)).toBe(await exportText(wanted));
        deps.db.$client.close();
      }
    }
  });

  test('that is an array reports its bad elements by number, and that it is truncated', async () => {
    const deps = testDeps();
    await importLines(deps, [{ id: 9, username: 'nine' }]);
    const prune = { limitPercent: 100, confirm: async () => true };
    for (const [text, refused, notPruned] of [
      ['[{"id":1,"username":"a"},{"id":2},7,{"id":3,"username":"c"}] x', [2, 3, 5], /refused/],
      ['[{"id":1,"username":"a"},{"id":3,"username":"c"}', [3], /refused/],
      ['[{"id":1,"username":"a"},{"id":3,"userna', [2, 3], /refused/],
      ['[{"id":1,"username":"a"},', [2], /refused/],
      ['[{"id":1,"username":"a"}}', [2], /refused/],
    ] as const) {
      const outcome = await importProfiles(deps, [Buffer.from(text)], { ...IMPORT_OPTIONS, prune });
      expect(outcome.refused.map(({ line }) => line)).toEqual([...refused]);
      expect(outcome.details.notPruned).toMatch(notPruned);
    }
    expect(await namesById(deps)).toEqual({ 1: ['a'], 3: ['c'], 9: ['nine'] });
  });

  test('may not contain a profile of more than 64 KiB, or with more than 500 aliases', async () => {
    const deps = testDeps();
    const aliases = Array.from({ length: 501 }, (_, at) => `${at}`);
    const { refused } = await importLines(deps, [
      { id: 1, username: 'a', customize: { a: 'ü'.repeat(33_000) } },
      { id: 2, username: 'b', aliases },
      { id: 3, username: 'c', customize: { a: 'ü'.repeat(32_000) } },
    ]);
    expect(refused.map(({ line, reason }) => [line, reason])).toEqual([
      [1, 'the profile and its links would need 65 KiB when shown, and 64 KiB are allowed'],
      [2, 'aliases may have at most 500 entries'],
    ]);
    expect(Buffer.byteLength(await exportText(deps))).toBeLessThan(MAX_LINE_BYTES);
  });

  test('has to be UTF-8', async () => {
    const deps = testDeps();
    const source = [Buffer.from('{"id":1,"username":"a\xff"}\n', 'latin1'), Buffer.from('{"id":2,"username":"b"}\n')];
    expect(await importProfiles(deps, source, IMPORT_OPTIONS)).toMatchObject({
      imported: 1,
      refused: [{ line: 1, reason: 'the line is not valid UTF-8' }],
    });
  });

  test('that is missing or a folder is refused with a sentence', async () => {
    const deps = testDeps();
    for (const strict of [false, true]) {
      const missing = importProfiles(deps, join(deps.folder, 'none'), { ...IMPORT_OPTIONS, strict });
      expect(await missing.catch((error: AppError) => error)).toBeInstanceOf(AppError);
      const folder = importProfiles(deps, deps.folder, { ...IMPORT_OPTIONS, strict });
      expect(await folder.catch((error: AppError) => error.message)).toContain('is a folder');
    }
  });
});

describe('the report', () => {
  test('counts what was left out by field and reason, with the first ten ids, and groups it if there is very much', async () => {
    const deps = testDeps();
    const flood = Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`f${index}`, 1]));
    const { dropped } = await importLines(deps, [
      { id: 1, username: 'a', 'evil\u001b[2J\u202e': 1, badges: [{ name: 'b', enabled: true, x: 1 }] },
      { id: 3, username: 'c', ...flood },
      ...Array.from({ length: 12 }, (_, at) => ({ id: at + 10, username: `u${at}`, f0: 1 })),
      { id: 4, username: 'd', ['y'.repeat(100_000)]: 1 },
    ]);
    const of = (field: string) => dropped.find((one) => one.field === field);
    const reason = 'is unknown';
    expect(of('evil[2J')).toEqual({ field: 'evil[2J', reason, count: 1, ids: [1] });
    expect(of('badges.x')).toEqual({ field: 'badges.x', reason, count: 1, ids: [1] });
    expect(of('f0')).toEqual({ field: 'f0', reason, count: 13, ids: [3, 10, 11, 12, 13, 14, 15, 16, 17, 18] });
    expect(of('…other')).toMatchObject({ count: 503, ids: [3, 4] });
    expect(dropped.length).toBe(1_001);
  });

  test('counts the profiles that lost links, badges, assets or their address because the line has none', async () => {
    const deps = testDeps();
    const full = (id: number) => ({
      id,
      username: `u${id}`,
      email: `u${id}@example.org`,
      assets: { a: null },
      badges: [{ name: 'b', enabled: true }],
      links: [{ id: 'l', name: 'n', link: 'x' }],
    });
    await importLines(deps, [full(1), full(2), full(3), { id: 4, username: 'u4' }]);
    const lines = [full(1), { id: 2, username: 'u2' }, { ...full(3), links: null }, { id: 4, username: 'u4' }];
    expect((await importLines(deps, [{ id: 1 }], { merge: true })).details).toMatchObject({ lost: { links: 0 } });
    const { details } = await importLines(deps, lines);
    expect(details).toMatchObject({ lost: { links: 2, badges: 1, assets: 1 }, unaddressed: 1 });
  });

  test('lists 10 000 refused lines, and the rest as one entry', async () => {
    const deps = testDeps();
    let heard = 0;
    const { refused } = await importLines(deps, Array(10_005).fill('x'), { onRefused: () => heard++ });
    expect(heard).toBe(10_005);
    expect(refused.length).toBe(10_001);
    const reason = 'and 5 more lines were refused, starting about here';
    expect(refused.at(-1)).toEqual({ line: 10_001, id: null, field: null, reason });
  });
});

describe('a batch', () => {
  test('ends when its time is over, and the lock is free for a while before the next one', async () => {
    const deps = testDeps();
    const sqlite = deps.db.$client;
    let ms = 0;
    const free: number[] = [];
    const clock = {
      ...deps.clock,
      monotonicMs: () => {
        // A line takes 10 ms; outside a transaction time stands still.
        if (sqlite.inTransaction) ms += 10;
        return ms;
      },
    };
    const lines = Array.from({ length: 30 }, (_, at) => ({ id: at + 1, username: `u${at}` }));
    let before = 0;
    const sizes: number[] = [];
    await importLines({ ...deps, clock }, lines, {
      pace: {
        lockMs: 50,
        gapMs: 15,
        write: async (act) => {
          free.push(performance.now());
          return act();
        },
      },
      onProgress: ({ lines: done }) => {
        sizes.push(done - before);
        before = done;
      },
    });
    expect(Math.max(...sizes)).toBeLessThanOrEqual(6);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(30);
    // At the end it is recorded as the last import.
    for (const [at, time] of free.slice(2, -1).entries()) expect(time - (free[at + 1] as number)).toBeGreaterThan(14);
  });

  test('of names that are passed on lets others run when its time is over, and is still one transaction', async () => {
    const deps = testDeps();
    const ring = (shift: number) =>
      Array.from({ length: 20 }, (_, at) => ({ id: at + 1, username: `u${(at + shift) % 20}` }));
    await importLines(deps, ring(0));
    const other = openAsItIs(deps.config.databasePath, 'read');
    const names = other.query('SELECT username FROM profiles ORDER BY id');
    const before = names.values();
    let isDone = false;
    const imported = importLines(deps, ring(1), { pace: { lockMs: 0, gapMs: 0, write: async (act) => act() } }).finally(
      () => {
        isDone = true;
      },
    );
    let turns = 0;
    while (!isDone) {
      if (deps.db.$client.inTransaction) {
        turns++;
        expect(names.values()).toEqual(before);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await imported).toMatchObject({ imported: 20, refused: [] });
    expect(turns).toBeGreaterThan(20);
    expect(names.values()).toEqual(ring(1).map(({ username }) => [username]));
    other.close();
  });

  test('in which this program fails at a line is applied without that line', async () => {
    const deps = testDeps();
    deps.db.$client.run(
      "CREATE TRIGGER fault BEFORE INSERT ON profile_names WHEN NEW.folded = 'bad' BEGIN SELECT RAISE(ABORT, 'fault'); END",
    );
    const names = ['a', 'bad', 'b', 'BAD', 'c'];
    const { imported, refused } = await importLines(
      deps,
      names.map((username, at) => ({ id: at + 1, username })),
    );
    expect([imported, refused.map(({ line, reason }) => [line, reason])]).toEqual([
      3,
      [
        [2, 'this program failed at the line'],
        [4, 'this program failed at the line'],
      ],
    ]);
    expect(await namesById(deps)).toEqual({ 1: ['a'], 3: ['b'], 5: ['c'] });
  });

  test('at the end, in which this program fails at a line that waited for a name, applies the others', async () => {
    const deps = testDeps();
    await importLines(
      deps,
      ['a', 'b', 'c', 'd'].map((username, at) => ({ id: at + 1, username })),
    );
    deps.db.$client.run(
      "CREATE TRIGGER fault BEFORE INSERT ON profile_names WHEN NEW.name = 'B' BEGIN SELECT RAISE(ABORT, 'fault'); END",
    );
    const swapped = ['B', 'a', 'd', 'c'].map((username, at) => ({ id: at + 1, username }));
    const { imported, refused } = await importLines(deps, swapped);
    expect([imported, refused.map(({ line, reason }) => [line, reason])]).toEqual([
      2,
      [
        [1, 'this program failed at the line'],
        [2, 'the name "a" is held by profile 1'],
      ],
    ]);
    expect(await namesById(deps)).toEqual({ 1: ['a'], 2: ['b'], 3: ['d'], 4: ['c'] });
  });
});

describe('the revision of a profile', () => {
  test('changes with its names, address, auth ID and ban, and with nothing else', async () => {
    const deps = testDeps();
    const revision = () => deps.db.$client.query('SELECT revision FROM profiles WHERE id = 7').values()[0]?.[0];
    await importLines(deps, [{ id: 7, username: 'Ada' }]);
    for (const [line, isMoved] of [
      [{ viewsCount: 1 }, false],
      [{ links: [{ id: 'l', name: 'n', link: 'x' }] }, false],
      [{ displayName: 'A', customize: { a: 1 }, showOnLeaderboard: false }, false],
      [{ username: 'ADA' }, true],
      [{ aliases: ['x'] }, true],
      [{ email: 'ada@example.org' }, true],
      [{ authId: 'a' }, true],
      [{ banned: true }, true],
      [{ banned: true, viewsCount: 3 }, false],
    ] as const) {
      const before = revision();
      await importLines(deps, [{ id: 7, ...line }], { merge: true });
      expect([line, revision() !== before]).toEqual([line, isMoved]);
    }
    const before = revision();
    await importLines(deps, [{ id: 7, deleted: true }]);
    await importLines(deps, [{ id: 7, username: 'Ada' }]);
    expect(revision()).not.toBe(before);
  });
});
