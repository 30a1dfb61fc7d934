import { afterAll, expect, test } from 'bun:test';
import { closeReader, endView, onCommit, openReader, type Reader, readInView } from '../../../shared/db/reader.ts';
import { insertProfile } from '../../support/profiles.ts';
import { emptyLogSoon } from '../../support/storage/write-ahead-log.ts';
import { testDeps } from '../../support/world.ts';

/** A reader some of whose statements fail for so many times, and who sees what it reads. */
function world(failures: Partial<Record<keyof Reader['statements'], number>> = {}) {
  const { db, config } = testDeps();
  const { $client: sqlite } = db;
  const reported: string[] = [];
  const opened = openReader(config.databasePath, (sentence) => reported.push(sentence));
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
  return { db, sqlite, reader, reported, read };
}

for (const name of ['begin', 'dataVersion'] as const) {
  test(`where ${name} fails a read fails, and the next one sees what was committed meanwhile`, async () => {
    const { db, sqlite, reader, read } = world({ [name]: 1 });
    expect(read).toThrow(`${name} failed`);
    expect(reader.sqlite.inTransaction).toBe(false);
    insertProfile(db);
    expect(read()).toBe(1);
    await emptyLogSoon(sqlite);
  });
}

test('where the end of a view fails it is said, and tried again though nobody reads any more', async () => {
  const { db, sqlite, reader, reported, read } = world({ rollback: 2 });
  expect(read()).toBe(0);
  insertProfile(db);
  await emptyLogSoon(sqlite);
  expect(reported.length).toBe(2);
  expect(reader.timer).toBeNull();
  expect(read()).toBe(1);
});

test('where the end of a view fails the next read may fail, but sees no old view', () => {
  const { db, reader, read } = world({ rollback: 1 });
  expect(read()).toBe(0);
  insertProfile(db);
  endView(reader);
  expect(read).toThrow('transaction');
  expect(read()).toBe(1);
});

test('where a listener fails all are called again by the next read', () => {
  const { reader, read } = world();
  const calls: string[] = [];
  let fails = true;
  onCommit(reader, () => void calls.push('first'));
  onCommit(reader, () => {
    calls.push('second');
    if (fails) throw new Error('it failed');
  });
  onCommit(reader, () => void calls.push('third'));
  expect(read).toThrow('it failed');
  fails = false;
  expect(read()).toBe(0);
  expect(calls).toEqual(['first', 'second', 'first', 'second', 'third']);
});

test('after a read that failed the view is not gone on with', () => {
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
