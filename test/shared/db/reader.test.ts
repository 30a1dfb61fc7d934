import { afterAll, expect, test } from 'bun:test';
import { closeReader, endView, onCommit, openReader, type Reader, readInView } from '../../../shared/db/reader.ts';
import { insertProfile } from '../../support/profiles.ts';
import { emptyLogSoon } from '../../support/storage/write-ahead-log.ts';
import { testDeps } from '../../support/world.ts';

/** A reader with statements that fail as often as `failures` says, and a function that reads with it. */
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
  test(`if ${name} fails, the read fails, and the next one sees the newest commit`, async () => {
    const { db, sqlite, reader, read } = world({ [name]: 1 });
    expect(read).toThrow(`${name} failed`);
    expect(reader.sqlite.inTransaction).toBe(false);
    insertProfile(db);
    expect(read()).toBe(1);
    await emptyLogSoon(sqlite);
  });
}

test('if ending a view fails, that is reported and retried, even without further reads', async () => {
  const { db, sqlite, reader, reported, read } = world({ rollback: 2 });
  expect(read()).toBe(0);
  insertProfile(db);
  await emptyLogSoon(sqlite);
  expect(reported.length).toBe(2);
  expect(reader.timer).toBeNull();
  expect(read()).toBe(1);
});

test('if ending a view fails, the next read may fail, but does not see the old view', () => {
  const { db, reader, read } = world({ rollback: 1 });
  expect(read()).toBe(0);
  insertProfile(db);
  endView(reader);
  expect(read).toThrow('transaction');
  expect(read()).toBe(1);
});

test('if a listener fails, the next read calls all of them again', () => {
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
