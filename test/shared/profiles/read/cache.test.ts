import { expect, test } from 'bun:test';
import { closeReader, openReader } from '../../../../shared/db/reader.ts';
import { prepareProfiles } from '../../../../shared/profiles/read/cache.ts';
import { prepareLookup } from '../../../../shared/profiles/read/lookup.ts';
import { insertProfile } from '../../../support/profiles.ts';
import { testDeps } from '../../../support/world.ts';

test('two aliases of one profile, asked for in turn, are read once each', () => {
  const deps = testDeps();
  insertProfile(deps.db, { id: 7, username: 'Ada', aliases: ['lovelace', 'countess'] });
  const reader = openReader(deps.config.databasePath);
  let reads = 0;
  const counting = new Proxy(reader.sqlite, {
    get: (target, name) => {
      if (name !== 'prepare') {
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return (sql: string) => {
        const statement = target.prepare(sql);
        return new Proxy(statement, {
          get: (of, method) => {
            const value = Reflect.get(of, method);
            if (method === 'get')
              return (...values: never[]) => {
                reads++;
                return of.get(...values);
              };
            return typeof value === 'function' ? value.bind(of) : value;
          },
        });
      };
    },
  });
  const sources = prepareProfiles({ ...reader, sqlite: counting });
  const { profile } = prepareLookup(reader, sources);
  for (let turn = 0; turn < 100; turn++) {
    profile('username', 'lovelace');
    profile('username', 'countess');
  }
  closeReader(reader);
  expect(reads).toBeLessThan(10);
});
