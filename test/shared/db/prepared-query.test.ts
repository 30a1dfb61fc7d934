import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { eq, sql } from 'drizzle-orm';
import { keepQuery } from '../../../shared/db/prepared-query.ts';
import { profiles } from '../../../shared/db/schema/profiles.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { write } from '../../../shared/db/write.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';

const usernameOf = keepQuery((db) =>
  db
    .select({ username: profiles.username })
    .from(profiles)
    .where(eq(profiles.id, sql.placeholder('id')))
    .prepare(),
);

test('a kept query reads what its transaction has just written, and nothing of it once that is taken back', () => {
  const { db } = testDeps();
  insertProfile(db, { id: 1, username: 'before' });
  expect(usernameOf(db).get({ id: 1 })).toEqual({ username: 'before' });
  const change = () =>
    write(db, (tx) => {
      tx.update(profiles).set({ username: 'after' }).where(eq(profiles.id, 1)).run();
      expect(usernameOf(tx).get({ id: 1 })).toEqual({ username: 'after' });
      throw new Error('taken back');
    });
  expect(change).toThrow('taken back');
  expect(usernameOf(db).get({ id: 1 })).toEqual({ username: 'before' });
});

test('each open database has kept queries of its own, which do not hold its file open once it is closed', () => {
  const [one, other] = [testDeps(), testDeps()];
  insertProfile(one.db, { id: 1, username: 'one' });
  insertProfile(other.db, { id: 1, username: 'other' });
  const path = one.config.databasePath;
  const beside = withTables(openDatabase(path, 'use'));
  one.db.$client.close();
  expect(usernameOf(beside).get({ id: 1 })).toEqual({ username: 'one' });
  expect(usernameOf(other.db).get({ id: 1 })).toEqual({ username: 'other' });
  expect(existsSync(`${path}-wal`)).toBe(true);
  beside.$client.close();
  // The last connection that is closed removes the write-ahead log.
  expect(existsSync(`${path}-wal`)).toBe(false);
});
