import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { effectsOnKeys } from '../../../../shared/erasure/erase-profile.ts';
import { AppError } from '../../../../shared/errors.ts';
import { MAX_LINE_BYTES } from '../../../../shared/profiles/edit/line.ts';
import { importProfiles } from '../../../../shared/profiles/import/import.ts';
import { onBox } from '../../../support/actors.ts';
import { exportText, importLines, jsonLines, namesById } from '../../../support/import.ts';
import { issue } from '../../../support/keys.ts';
import { MAIL_CONFIG } from '../../../support/mail/config.ts';
import { testClock, testDeps } from '../../../support/world.ts';

const OPTIONS = {
  merge: false,
  strict: false,
  by: onBox('operator'),
  onKeys: effectsOnKeys(onBox('operator'), MAIL_CONFIG),
};

async function profile(deps: Parameters<typeof exportText>[0], id: number) {
  const lines = (await exportText(deps)).split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line)).find((found) => found.id === id);
}

describe('a line', () => {
  test('sets absent fields to their defaults, createdAt to the time of the import', async () => {
    const deps = testDeps({ clock: testClock(Date.parse('2026-02-03T04:05:06.789Z')) });
    const result = await importLines(deps, [{ id: 7, username: 'Ada' }]);
    expect(result).toMatchObject({ imported: 1, deleted: 0, pruned: 0, refused: [], dropped: {} });
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

  test('that merges may not turn a name into the username that is still an alias', async () => {
    const deps = testDeps();
    await importLines(deps, [{ id: 7, username: 'Ada', aliases: ['lovelace'] }]);
    const { refused } = await importLines(deps, [{ id: 7, username: 'Lovelace' }], { merge: true });
    expect(refused).toMatchObject([{ line: 1, reason: 'aliases may not repeat the username ("lovelace")' }]);
    await importLines(deps, [{ id: 7, username: 'Lovelace', aliases: ['ada'] }], { merge: true });
    expect(await namesById(deps)).toEqual({ 7: ['Lovelace', 'ada'] });
  });

  test('that is bad is reported with its number, and the rest is imported', async () => {
    const deps = testDeps();
    const heard: number[] = [];
    const lines = [{ id: 1, username: 'one' }, '', 'nonsense', '   ', { id: 2 }, { id: 3, username: 'three' }];
    const result = await importLines(deps, lines, { onRefused: ({ line }) => heard.push(line) });
    expect(result.refused).toMatchObject([
      { line: 3, id: null, field: null, reason: 'the line is not valid JSON (column 1)' },
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
    expect(await importProfiles(deps, path, OPTIONS)).toMatchObject({ imported: 2, refused: [] });
  });

  test('may arrive in pieces of any size, cut inside characters', async () => {
    const deps = testDeps();
    const bytes = Buffer.from(jsonLines({ id: 1, username: 'さくら' }, { id: 2, username: '🎈' }));
    const pieces = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
    expect(await importProfiles(deps, pieces, OPTIONS)).toMatchObject({ imported: 2, refused: [] });
    expect(await namesById(deps)).toEqual({ 1: ['さくら'], 2: ['🎈'] });
  });

  test('has lines of at most 1 MiB; longer lines are skipped without being held in memory', async () => {
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
    const result = await importProfiles(deps, source(), OPTIONS);
    expect(result.imported).toBe(2);
    expect(result.refused).toMatchObject(
      [2, 3].map((number) => ({ line: number, reason: 'the line is longer than 1 MiB' })),
    );
  });

  test('may not contain a profile whose export line would be too long for an import', async () => {
    const deps = testDeps();
    const numbers = `[${Array(200_000).fill('1e15').join(',')}]`;
    const { refused } = await importLines(deps, [`{"id":1,"username":"u","customize":{"a":${numbers}}}`]);
    expect(refused[0]?.reason).toContain('more than 1 MiB when exported');
    expect(await exportText(deps)).toBe('');
  });

  test('has to be UTF-8', async () => {
    const deps = testDeps();
    const source = [Buffer.from('{"id":1,"username":"a\xff"}\n', 'latin1'), Buffer.from('{"id":2,"username":"b"}\n')];
    expect(await importProfiles(deps, source, OPTIONS)).toMatchObject({
      imported: 1,
      refused: [{ line: 1, reason: 'the line is not valid UTF-8' }],
    });
  });

  test('that is missing or a folder is refused with a sentence', async () => {
    const deps = testDeps();
    for (const strict of [false, true]) {
      const missing = importProfiles(deps, join(deps.folder, 'none'), { ...OPTIONS, strict });
      expect(await missing.catch((error: AppError) => error)).toBeInstanceOf(AppError);
      const folder = importProfiles(deps, deps.folder, { ...OPTIONS, strict });
      expect(await folder.catch((error: AppError) => error.message)).toContain('is a folder');
    }
  });
});

describe('the report', () => {
  test('counts unknown fields by cleaned name, and groups them if there are very many', async () => {
    const deps = testDeps();
    const flood = Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`f${index}`, 1]));
    const { dropped } = await importLines(deps, [
      { id: 1, username: 'a', 'evil\u001b[2J\u202e': 1, badges: [{ name: 'b', enabled: true, x: 1 }] },
      '{"id":2,"username":"b","__proto__":1}',
      { id: 3, username: 'c', ...flood },
      { id: 4, username: 'd', ['y'.repeat(100_000)]: 1 },
    ]);
    expect(dropped).toMatchObject({ 'evil[2J': 1, 'badges.x': 1, f0: 1 });
    expect(Object.hasOwn(dropped, '__proto__')).toBe(true);
    expect(dropped['…other']).toBe(504);
    expect(Object.keys(dropped).length).toBe(1_001);
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
  /** The number of lines of each batch on a machine where writing a profile takes this long. */
  async function batchSizes(msPerProfile: number, count: number): Promise<number[]> {
    const deps = testDeps();
    const written = deps.db.$client.query('SELECT count(*) FROM profiles');
    const monotonicMs = () => Number(written.values()[0]?.[0]) * msPerProfile;
    const sizes: number[] = [];
    let before = 0;
    await importLines(
      { ...deps, clock: { ...deps.clock, monotonicMs } },
      Array.from({ length: count }, (_, index) => ({ id: index + 1, username: `u${index}` })),
      {
        onProgress: ({ lines }) => {
          sizes.push(lines - before);
          before = lines;
        },
      },
    );
    return sizes.filter((size) => size > 0);
  }

  test('grows and shrinks until it holds the write lock for at most 100 ms, however slow the machine is', async () => {
    expect((await batchSizes(1, 2_000)).slice(3, -1).filter((lines) => lines < 25 || lines > 100)).toEqual([]);
    expect((await batchSizes(200, 600)).slice(-40)).toEqual(Array(40).fill(1));
    expect(Math.max(...(await batchSizes(0.001, 5_000)))).toBe(1_000);
  });
});
