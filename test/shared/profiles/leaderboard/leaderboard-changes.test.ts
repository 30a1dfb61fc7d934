import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { noteChanges, noteNoChange } from '../../../../shared/db/changes.ts';
import { closeReader, endView, openReader } from '../../../../shared/db/reader.ts';
import { BOARD_SIZE } from '../../../../shared/profiles/leaderboard/board-bounds.ts';
import { type Leaderboard, prepareLeaderboard } from '../../../../shared/profiles/leaderboard/leaderboard.ts';
import type { Body } from '../../../../shared/profiles/lookup/body.ts';
import { prepareProfiles } from '../../../../shared/profiles/lookup/cache.ts';
import { importLines } from '../../../support/import.ts';
import { rounds } from '../../../support/rounds.ts';
import { testDeps } from '../../../support/world.ts';

// Commits by others, while the board keeps entries that need not be read again.

/** Four blocks, the last of them short. */
const SIZE = 200;

/** The limit of a page; blocks begin elsewhere. */
const LIMIT = 37;

const PROFILES = 320;

const createdAt = '2024-05-01T00:00:00.000Z';

/** A database of profiles with these views, and a board on it that counts the profiles it reads. */
function world(viewsOf: (id: number) => number) {
  const deps = testDeps();
  const sqlite = deps.db.$client;
  const fill = sqlite.prepare(
    `INSERT INTO profiles (id, username, display_name, badges, assets, customize, discord_clean, banned, views_count,
       followers_count, show_followers_count, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, 0, 1, 0)`,
  );
  const name = sqlite.prepare('INSERT INTO profile_names VALUES (?, ?, 0, ?)');
  const reset = sqlite.transaction((count = PROFILES) => {
    sqlite.run('DELETE FROM profiles');
    for (let id = 1; id <= count; id++) {
      fill.run(id, `u${id}`, `U${id}`, '[]', '{}', '{}', '{}', viewsOf(id));
      name.run(`u${id}`, id, `u${id}`);
    }
  });
  reset();
  const reader = openReader(deps.config.databasePath);
  afterAll(() => closeReader(reader));
  let read = 0;
  const sources = prepareProfiles(reader);
  const profileOnce = (id: number) => {
    read++;
    return sources.profileOnce(id);
  };
  const board = prepareLeaderboard(reader, { ...sources, profileOnce }, SIZE);
  const pages = () => {
    endView(reader);
    read = 0;
    return allPages(board);
  };
  return { deps, sqlite, reset, pages, countRead: () => read };
}

/** All pages of the board. */
function allPages(board: Leaderboard): string[] {
  const pages: string[] = [];
  for (let offset = 0; offset <= SIZE; offset += LIMIT) {
    pages.push((board(LIMIT, offset).body as Body).toString());
  }
  return pages;
}

/** All pages of a new board. */
function freshPages(path: string): string[] {
  const reader = openReader(path);
  try {
    return allPages(prepareLeaderboard(reader, prepareProfiles(reader), SIZE));
  } finally {
    closeReader(reader);
  }
}

describe('after commits of any kind by other processes', () => {
  const { deps, sqlite, reset, pages } = world((id) => (id * 7) % 40);
  type Commit = { how: keyof typeof commits; id: number; value: number };

  const merge = (lines: object[]) => importLines(deps, lines, { merge: true });
  const upTo = (count: number, line: (id: number) => object) => Array.from({ length: count }, (_, at) => line(at + 1));
  const commits = {
    rename: (id: number, value: number) => merge([{ id, username: `u${id}x${value}` }]),
    views: (id: number, value: number) => merge([{ id, username: `u${id}`, viewsCount: value }]),
    ban: (id: number) => merge([{ id, username: `u${id}`, banned: true }]),
    unban: (id: number) => merge([{ id, username: `u${id}`, banned: false }]),
    leave: (id: number) => merge([{ id, username: `u${id}`, showOnLeaderboard: false }]),
    return: (id: number) => merge([{ id, username: `u${id}`, showOnLeaderboard: true }]),
    insert: (id: number, value: number) =>
      importLines(deps, [{ id: PROFILES + id, username: `new${id}`, viewsCount: value, createdAt }]),
    links: (id: number, value: number) =>
      merge([{ id, username: `u${id}`, links: [{ id: 'l', name: `${value}`, link: 'x' }] }]),
    // Fewer and more than are read one by one; more than fit on the board.
    some: (id: number, value: number) =>
      merge(upTo(1 + (id % 199), (of) => ({ id: of, username: `u${of}`, viewsCount: of % value }))),
    most: (_id: number, value: number) =>
      merge(upTo(300, (of) => ({ id: of, username: `u${of}`, viewsCount: of % value }))),
    banSome: (id: number, value: number) =>
      merge(upTo(1 + (id % 199), (of) => ({ id: of, username: `u${of}`, banned: of % value > 0 }))),
    // The change is recorded for a profile that no longer exists.
    delete: async (id: number) => {
      sqlite.transaction(() => {
        sqlite.run('DELETE FROM profiles WHERE id = ?', [id]);
        noteChanges(sqlite, new Set([id]));
      })();
    },
    // It is recorded that any profile may have changed.
    erase: (id: number) => merge([{ id, deleted: true }]),
    anything: async (id: number, value: number) => {
      sqlite.transaction(() => {
        sqlite.run('UPDATE profiles SET display_name = ? WHERE id > ?', [`V${value}`, id]);
        noteChanges(sqlite, null);
      })();
    },
    nothing: async () => noteNoChange(sqlite),
  };
  /** By hand, or not of a profile: nothing is recorded. */
  const byHand = (id: number, value: number) =>
    sqlite.run('UPDATE profiles SET views_count = ?, banned = ?, show_on_leaderboard = ? WHERE id = ?', [
      ...[value, value % 2, value % 3 === 0 ? 0 : 1],
      id,
    ]);

  const commit: fc.Arbitrary<Commit> = fc.record({
    how: fc.constantFrom(...(Object.keys(commits) as (keyof typeof commits)[])),
    id: fc.integer({ min: 1, max: PROFILES }),
    value: fc.integer({ min: 1, max: 45 }),
  });
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.array(commit, { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.record({ id: fc.integer({ min: 1, max: PROFILES }), value: fc.nat(45) }) },
  );

  // Often about as many as fit on the board.
  const count = fc.oneof(fc.constant(PROFILES), fc.integer({ min: SIZE - 5, max: SIZE + 5 }));

  test('every page equals that of a newly read board', async () => {
    await fc.assert(
      fc.asyncProperty(count, fc.array(step, { minLength: 1, maxLength: 10 }), async (there, steps) => {
        reset(there);
        pages();
        for (const each of steps) {
          if ('id' in each) byHand(each.id, each.value);
          else for (const { how, id, value } of each) await commits[how](id, value);
          expect(pages()).toEqual(freshPages(deps.config.databasePath));
        }
      }),
      { numRuns: rounds(12) },
    );
  }, 60_000);
});

describe('the entries that are read again', () => {
  // Profile 1 is first, profile 200 last.
  const { deps, sqlite, reset, pages, countRead } = world((id) => 10 * (PROFILES - id));
  const merge = (line: object) => importLines(deps, [line], { merge: true });
  const noteMany = (first: number, count: number) => {
    for (let id = first; id < first + count; id += 500) {
      noteChanges(sqlite, new Set(Array.from({ length: 500 }, (_, at) => id + at)));
    }
  };
  const COMMITS: [string, () => unknown, number][] = [
    ['none if nothing changed', () => {}, 0],
    ['none after a change below the board', () => merge({ id: SIZE + 1, displayName: 'New', viewsCount: 0 }), 0],
    ['none after a commit that changes no profile', () => noteNoChange(sqlite), 0],
    ['only changed ones if many have changed', () => noteMany(193, 500), SIZE - 192],
    ['the block of a changed profile', () => merge({ id: 70, displayName: 'New' }), 64],
    ['the block of a profile with more views at the same position', () => merge({ id: 70, viewsCount: 2_505 }), 64],
    ['also the block of a profile with another rank', () => merge({ id: 64, viewsCount: 2_550 }), 128],
    ['all between the old and the new position of a profile', () => merge({ id: 140, viewsCount: 2_505 }), 128],
    ['all from the position of a removed profile', () => merge({ id: 70, banned: true }), SIZE - 64],
    ['only the end if a profile enters there', () => merge({ id: 300, viewsCount: 1_235 }), SIZE - 192],
    ['all if more have changed than fit on a board', () => noteMany(1, BOARD_SIZE + 1), SIZE],
    ['all after a commit that records no changes', () => sqlite.run('DELETE FROM profiles WHERE id = 320'), SIZE],
  ];
  for (const [what, commit, read] of COMMITS) {
    test(what, async () => {
      reset();
      pages();
      await commit();
      expect(pages()).toEqual(freshPages(deps.config.databasePath));
      expect(countRead()).toBe(read);
    });
  }
});

test('a profile deleted by hand at the moment of a recorded change causes at most one failed request', () => {
  const { deps, sqlite, pages } = world((id) => 10 * (PROFILES - id));
  pages();
  sqlite.run('DELETE FROM profiles WHERE id = 3');
  noteChanges(sqlite, new Set([4]));
  expect(() => pages()).toThrow('try again');
  expect(pages()).toEqual(freshPages(deps.config.databasePath));
});
