import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { eq, sql } from 'drizzle-orm';
import { keepQuery } from '../../../shared/db/prepared-query.ts';
import { profiles } from '../../../shared/db/schema/profiles.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { write } from '../../../shared/db/write.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';

const addressOf = keepQuery((db) =>
  db
    .select({ email: profiles.email })
    .from(profiles)
    .where(eq(profiles.id, sql.placeholder('id')))
    .prepare(),
);

test('a cached query reads what its transaction has written, but no longer after a rollback', () => {
  const { db } = testDeps();
  insertProfile(db, { id: 1, email: 'before@example.org' });
  expect(addressOf(db).get({ id: 1 })).toEqual({ email: 'before@example.org' });
  const change = () =>
    write(db, (tx) => {
      tx.update(profiles).set({ email: 'after' }).where(eq(profiles.id, 1)).run();
      expect(addressOf(tx).get({ id: 1 })).toEqual({ email: 'after' });
      throw new Error('rolled back');
    });
  expect(change).toThrow('rolled back');
  expect(addressOf(db).get({ id: 1 })).toEqual({ email: 'before@example.org' });
});

test('each open database has its own cached queries, which do not keep its file open after it is closed', () => {
  const [one, other] = [testDeps(), testDeps()];
  insertProfile(one.db, { id: 1, email: 'one@example.org' });
  insertProfile(other.db, { id: 1, email: 'other@example.org' });
  const path = one.config.databasePath;
  const beside = withTables(openDatabase(path, 'use'));
  one.db.$client.close();
  expect(addressOf(beside).get({ id: 1 })).toEqual({ email: 'one@example.org' });
  expect(addressOf(other.db).get({ id: 1 })).toEqual({ email: 'other@example.org' });
  expect(existsSync(`${path}-wal`)).toBe(true);
  beside.$client.close();
  // The last connection to close removes the write-ahead log.
  expect(existsSync(`${path}-wal`)).toBe(false);
});
