import { describe, expect, test } from 'bun:test';
import { links } from '../../../../shared/db/schema/profiles.ts';
import { openDatabase } from '../../../../shared/db-files/open.ts';
import type { LookupBy } from '../../../../shared/profiles/lookup/lookup.ts';
import { insertProfile } from '../../../support/profiles.ts';
import { readingOf } from '../../../support/reading.ts';
import { testDeps } from '../../../support/world.ts';

const deps = testDeps();
const { db, config } = deps;
insertProfile(db, {
  id: 7,
  username: 'Ada',
  aliases: ['Lovelace', 'Straße', 'ﬁsh'],
  authId: 'auth0|ABC',
  followersCount: 5,
});
insertProfile(db, { id: 8, username: 'bea', banned: true, showFollowersCount: false, followersCount: 5 });
insertProfile(db, { id: Number.MAX_SAFE_INTEGER, username: 'İstanbul' });
for (const [position, id] of ['b', 'a', 'c'].entries()) {
  db.insert(links).values({ profileId: 7, position, id, name: id, link: 'https://x' }).run();
}
const { lookup } = readingOf(deps);

const profileOf = (way: LookupBy, value: string) => JSON.parse(lookup.profile(way, value)?.text.body ?? 'null');
const idOf = (way: LookupBy, value: string) => profileOf(way, value).id;

describe('a lookup by name', () => {
  const same = ['Ada', 'ada', 'ADA', 'Ａｄａ', 'aDa'];
  for (const name of same) {
    test(`finds the username Ada as ${name}`, () =>
      expect(lookup.profile('username', name)).toMatchObject({ aliasOf: null }));
  }

  for (const name of ['lovelace', 'LOVELACE', 'straße', 'STRAßE', 'fish', 'FISH', 'ﬁSH']) {
    test(`finds an alias as ${name}, and the response has the username as stored`, () => {
      expect(lookup.profile('username', name)).toMatchObject({ aliasOf: 'Ada' });
      expect(profileOf('username', name).username).toBe('Ada');
      expect(lookup.links('username', name)).toMatchObject({ aliasOf: 'Ada' });
    });
  }

  test('folds again if lower-casing has undone a normalisation', () => {
    expect(idOf('username', 'İSTANBUL')).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe('a lookup by an ID', () => {
  test('finds the UID, and refuses all but canonical integers in range', () => {
    expect(idOf('uid', '7')).toBe(7);
    expect(idOf('uid', '9007199254740991')).toBe(Number.MAX_SAFE_INTEGER);
    for (const text of ['9007199254740992', '0', '07', '7.0', '', ' 7', '1e0']) {
      expect(() => lookup.profile('uid', text)).toThrow(expect.objectContaining({ code: 'bad_parameter' }));
      expect(() => lookup.links('uid', text)).toThrow(expect.objectContaining({ code: 'bad_parameter' }));
    }
  });

  test('finds the auth ID, if it is exactly the same', () => {
    expect(idOf('authId', 'auth0|ABC')).toBe(7);
    expect(lookup.links('authId', 'auth0|ABC')).toMatchObject({ aliasOf: null });
    for (const text of ['auth0|abc', 'auth0|ABC ', 'auth0', '', 'x'.repeat(256), '\0', 'null']) {
      expect(lookup.profile('authId', text)).toBeNull();
    }
  });
});

test('an unknown or invalid name, UID or auth ID finds nothing', () => {
  for (const [way, value] of [
    ['username', 'nobody'],
    ['username', ''],
    ['username', '..'],
    ['uid', '999'],
    ['authId', 'x'],
  ] as const) {
    expect([lookup.profile(way, value), lookup.links(way, value)]).toEqual([null, null]);
  }
});

test('a banned profile is found and marked; a hidden followers count is null', () => {
  expect(profileOf('uid', '8')).toMatchObject({ banned: true, followersCount: null });
  expect(profileOf('uid', '7')).toMatchObject({ banned: false, followersCount: 5 });
});

test('links are in the owner’s order', () => {
  const found = JSON.parse(lookup.links('uid', '7')?.text.body ?? 'null') as { links: { id: string }[] };
  expect(found.links.map(({ id }) => id)).toEqual(['b', 'a', 'c']);
  expect(lookup.links('uid', '8')?.text.body).toBe('{"links":[]}');
});

test('a lookup does not count as a view, and does not wait for writers', () => {
  const other = openDatabase(config.databasePath, 'use');
  other.$client.run('BEGIN IMMEDIATE');
  other.$client.run('UPDATE profiles SET views_count = 99');
  expect(profileOf('uid', '7').viewsCount).toBe(0);
  other.$client.run('ROLLBACK');
  other.$client.close();
});
