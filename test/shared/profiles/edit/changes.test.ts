import { describe, expect, test } from 'bun:test';
import { createProgram } from '../../../../cli/program.ts';
import { KEPT_TRANSACTIONS, MAX_NOTED_IDS, noteChanges, prepareChanges } from '../../../../shared/db/changes.ts';
import { openDatabase } from '../../../../shared/files/open.ts';
import { onBox } from '../../../support/actors.ts';
import { eraseProfile } from '../../../support/erase.ts';
import { exportText, importLines, jsonLines } from '../../../support/import.ts';
import { runCommand } from '../../../support/machine/command.ts';
import { rounds } from '../../../support/rounds.ts';
import { testDeps } from '../../../support/world.ts';

/** A database with a log reader on its own connection, as a server has it. */
function world() {
  const deps = testDeps();
  const reader = openDatabase(deps.config.databasePath, 'use').$client;
  const { since } = prepareChanges(reader);
  const { seq: start } = since(0);
  return { deps, sqlite: deps.db.$client, since, start };
}

describe('every command that writes profiles records which it changed', () => {
  const WRITING: Record<string, string[]> = {
    import: ['-'],
    ban: ['ada'],
    unban: ['ada'],
    erase: ['ada', '--yes'],
  };
  /** These change no profile. */
  const OTHERS = ['export', 'list', 'show', 'sign-out'];

  test('every command that writes profiles is tested below', async () => {
    const { commands } = await createProgram();
    const profiles = commands.find((command) => command.name() === 'profiles');
    const names = profiles?.commands.map((command) => command.name());
    expect(names?.sort()).toEqual([...Object.keys(WRITING), ...OTHERS].sort());
  });

  for (const [name, words] of Object.entries(WRITING)) {
    test(name, async () => {
      const { deps, since } = world();
      await importLines(deps, [
        { id: 1, username: 'ada', aliases: ['lovelace'], banned: name === 'unban' },
        { id: 2, username: 'bob' },
      ]);
      const before = since(0);
      const stdin = jsonLines({ id: 1, username: 'eve' });
      const done = await runCommand(['profiles', name, ...words, '--db', deps.config.databasePath], { stdin });
      expect(done).toMatchObject({ code: 0, stderr: '' });
      // Another transaction of an import stores that it was made.
      const transactions = name === 'import' ? 2 : 1;
      expect(since(before.seq)).toEqual({ seq: before.seq + transactions, ids: name === 'erase' ? null : [1] });
    });
  }
});

test('a reader at any time learns of every profile that changed, or that any profile may have changed', async () => {
  const { deps, since, start } = world();
  // A generator with its own seed, so that the walk is always the same.
  let state = 1;
  const random = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const linesById = async () =>
    new Map(
      (await exportText(deps))
        .split('\n')
        .filter(Boolean)
        .map((line) => [JSON.parse(line).id as number, line]),
    );
  let seen = await linesById();
  let seq = start;
  let reported = 0;
  for (let step = 0; step < rounds(300); step++) {
    const lines = Array.from({ length: 1 + random(6) }, () => {
      const id = 1 + random(12);
      if (random(25) === 0) return { id, deleted: true };
      return {
        id,
        username: `n${random(14)}`,
        aliases: random(3) === 0 ? [`a${random(6)}`] : [],
        viewsCount: random(3),
      };
    });
    await importLines(deps, lines, { merge: random(3) === 0, strict: random(3) === 0 });
    if (random(2) === 0) continue;
    const now = await linesById();
    const changes = since(seq);
    const changed = [...new Set([...seen.keys(), ...now.keys()])].filter((id) => seen.get(id) !== now.get(id));
    if (changes.ids !== null) {
      reported++;
      expect(changed.filter((id) => !changes.ids?.includes(id))).toEqual([]);
    }
    seen = now;
    seq = changes.seq;
    expect(since(seq)).toEqual({ seq, ids: [] });
  }
  expect(reported).toBeGreaterThan(rounds(40));
});

test('a rollback, and a transaction without changes, records nothing', async () => {
  const { deps, since } = world();
  await importLines(deps, [{ id: 1, username: 'ada' }]);
  const { seq } = since(0);
  const lines = [
    { id: 2, username: 'bob' },
    { id: 3, username: 'Ada' },
  ];
  await importLines(deps, lines, { strict: true });
  await importLines(deps, ['nonsense', { id: 9, deleted: true }]);
  expect(since(seq)).toEqual({ seq, ids: [] });
  await importLines(deps, lines);
  // Another transaction stores that an import was made.
  expect(since(seq)).toEqual({ seq: seq + 2, ids: [2] });
});

describe('the log', () => {
  test('names up to 1000 profiles of a transaction; with more, any profile may have changed', () => {
    const { sqlite, since, start } = world();
    const ids = Array.from({ length: MAX_NOTED_IDS + 1 }, (_, index) => index + 1);
    noteChanges(sqlite, new Set(ids.slice(1)));
    expect(since(start)).toEqual({ seq: start + 1, ids: ids.slice(1) });
    noteChanges(sqlite, new Set(ids));
    expect(since(start + 1)).toEqual({ seq: start + 2, ids: null });
  });

  test('keeps the latest transactions; for a reader that missed more, any profile may have changed', () => {
    const { sqlite, since, start } = world();
    for (let id = 1; id <= 3 * KEPT_TRANSACTIONS; id++) noteChanges(sqlite, new Set([id]));
    const seq = start + 3 * KEPT_TRANSACTIONS;
    expect(sqlite.query('SELECT count(*) AS n FROM profile_changes').get()).toEqual({ n: KEPT_TRANSACTIONS });
    expect(since(seq - KEPT_TRANSACTIONS)).toEqual({ seq, ids: null });
    expect(since(seq - KEPT_TRANSACTIONS + 1).ids?.length).toBe(KEPT_TRANSACTIONS - 1);
    for (const never of [0, start, seq + 1]) expect(since(never).ids).toBeNull();
  });

  test('never reuses a number, even after it was emptied', () => {
    const { sqlite, since, start } = world();
    noteChanges(sqlite, new Set([1]));
    sqlite.run('DELETE FROM profile_changes');
    expect(since(start + 1).ids).toBeNull();
    noteChanges(sqlite, new Set([2]));
    expect(since(start + 1)).toEqual({ seq: start + 2, ids: null });
  });

  test('contains no ids of erased profiles', async () => {
    const { deps, sqlite, since } = world();
    await importLines(deps, [{ id: 1, username: 'ada' }]);
    await importLines(deps, [{ id: 2, username: 'bob' }]);
    const { seq } = since(0);
    eraseProfile(deps, 'ada', onBox('operator'));
    expect(sqlite.query('SELECT * FROM profile_changes').all()).toEqual([{ seq: seq + 1, profile_ids: null }]);
    await importLines(deps, [
      { id: 3, username: 'cyd' },
      { id: 2, deleted: true },
    ]);
    expect(sqlite.query('SELECT * FROM profile_changes').all()).toEqual([
      { seq: seq + 2, profile_ids: null },
      // Another transaction stores that an import was made.
      { seq: seq + 3, profile_ids: '[]' },
    ]);
  });
});
