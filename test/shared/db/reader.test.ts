import { afterAll, expect, test } from 'bun:test';
import { closeReader, endView, openReader, type Reader, readInView } from '../../../shared/db/reader.ts';
import { insertProfile } from '../../support/profiles.ts';
import { eventually, testDeps } from '../../support/world.ts';

/** A reader with statements that fail as often as `failures` says, and a function that reads with it. */
function world(failures: Partial<Record<keyof Reader['statements'], number>> = {}) {
  const { db, config } = testDeps();
  const { $client: sqlite } = db;
  const opened = openReader(config.databasePath);
  const failing = <S extends object>(statement: S, name: keyof Reader['statements']): S =>
    new Proxy(statement, {
      get: (target, method) => (of: never) => {
        const left = failures[name] ?? 0;
        failures[name] = left - 1;
        if (left > 0) throw new Error(`${name} failed`);
        return (Reflect.get(target, method) as (of: never) => unknown).call(target, of);
      },
    });
  const { begin, rollback, dataVersion } = opened.statements;
  const statements = {
    begin: failing(begin, 'begin'),
    rollback: failing(rollback, 'rollback'),
    dataVersion: failing(dataVersion, 'dataVersion'),
  };
  const reader: Reader = { ...opened, statements };
  afterAll(() => closeReader(reader));
  const count = reader.sqlite.prepare<{ n: number }, []>('SELECT count(*) AS n FROM profiles');
  const read = () => readInView(reader, () => count.get()?.n);
  return { db, sqlite, reader, read };
}

for (const name of ['begin', 'dataVersion'] as const) {
  test(`if ${name} fails, the read fails, and the next one sees the newest commit`, async () => {
    const { db, sqlite, reader, read } = world({ [name]: 1 });
    expect(read).toThrow(`${name} failed`);
    expect(reader.sqlite.inTransaction).toBe(false);
    insertProfile(db);
    expect(read()).toBe(1);
    // No reader uses the write-ahead log any more.
    await eventually(() => sqlite.query('PRAGMA wal_checkpoint(TRUNCATE)').values()[0]?.[0] === 0);
  });
}

test('if ending a view fails, the next read ends it, and sees the newest commit', () => {
  const { db, reader, read } = world({ rollback: 1 });
  expect(read()).toBe(0);
  insertProfile(db);
  endView(reader);
  expect(read()).toBe(1);
});

test('the views that see commits of others are counted', () => {
  const { db, reader, read } = world();
  const commitsAfter = (act: () => void) => {
    act();
    endView(reader);
    read();
    return reader.commits;
  };
  const first = commitsAfter(() => {});
  expect(commitsAfter(() => {})).toBe(first);
  expect(commitsAfter(() => insertProfile(db))).toBe(first + 1);
  expect(commitsAfter(() => {})).toBe(first + 1);
});

test('after a failed read, its view is not used again', () => {
  const { db, reader, read } = world();
  expect(read()).toBe(0);
  insertProfile(db);
  expect(read()).toBe(0);
  expect(() =>
    readInView(reader, () => {
      throw new Error('it failed');
    }),
  ).toThrow('it failed');
  expect(read()).toBe(1);
});
