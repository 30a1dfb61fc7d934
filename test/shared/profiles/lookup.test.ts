import { describe, expect, test } from 'bun:test';
import { openDatabase } from '../../../shared/files/open.ts';
import type { LookupBy } from '../../../shared/profiles/lookup.ts';
import { insertProfile } from '../../support/profiles.ts';
import { readingOf } from '../../support/storage.ts';
import { testDeps } from '../../support/world.ts';

const deps = testDeps();
const { db, config } = deps;
insertProfile(db, { id: 7, username: 'Ada', aliases: ['Lovelace', 'Straße', 'ﬁsh'], authId: 'auth0|ABC' });
insertProfile(db, { id: Number.MAX_SAFE_INTEGER, username: 'İstanbul' });
const { lookup } = readingOf(deps);

const profileOf = (way: LookupBy, value: string) => JSON.parse(lookup.one('profile', way, value)?.body ?? 'null');
const idOf = (way: LookupBy, value: string) => profileOf(way, value).id;

describe('a lookup by name', () => {
  test('finds a username and an alias, however they are written, with the username as stored', () => {
    for (const [name, aliasOf] of [
      ['Ada', null],
      ['ada', null],
      ['Ａｄａ', null],
      ['LOVELACE', 'Ada'],
      ['STRAßE', 'Ada'],
      ['ﬁSH', 'Ada'],
    ] as const) {
      expect(lookup.one('profile', 'username', name)).toMatchObject({ aliasOf });
      expect(lookup.one('links', 'username', name)).toMatchObject({ aliasOf });
      expect(profileOf('username', name).username).toBe('Ada');
    }
  });

  test('folds again if lower-casing has undone a normalisation', () => {
    expect(idOf('username', 'İSTANBUL')).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe('a lookup by an ID', () => {
  test('finds the UID, and refuses all but canonical integers in range', () => {
    expect(idOf('uid', '7')).toBe(7);
    expect(idOf('uid', '9007199254740991')).toBe(Number.MAX_SAFE_INTEGER);
    const others = [
      '9007199254740992',
      '9'.repeat(20),
      '0',
      '-1',
      '+7',
      '07',
      '7.0',
      '',
      ' 7',
      '1e0',
      '0x7',
      '٣',
      '７',
      'x',
    ];
    for (const text of others) {
      expect(() => lookup.one('profile', 'uid', text)).toThrow(expect.objectContaining({ code: 'bad_parameter' }));
      expect(() => lookup.one('links', 'uid', text)).toThrow(expect.objectContaining({ code: 'bad_parameter' }));
    }
  });

  test('finds the auth ID, if it is exactly the same', () => {
    expect(idOf('authId', 'auth0|ABC')).toBe(7);
    expect(lookup.one('links', 'authId', 'auth0|ABC')).toMatchObject({ aliasOf: null });
    for (const text of ['auth0|abc', 'auth0|ABC ', 'auth0', '', 'x'.repeat(256), '\0', 'null']) {
      expect(lookup.one('profile', 'authId', text)).toBeNull();
    }
  });
});

test('an unknown or invalid name, UID or auth ID finds nothing', () => {
  for (const [way, value] of [
    ['username', 'nobody'],
    ['username', ''],
    ['username', '..'],
    ['username', 'Ada/'],
    ['username', ' ada'],
    ['username', 'a\u202eda'],
    ['username', 'a'.repeat(65)],
    ['uid', '999'],
    ['authId', 'x'],
  ] as const) {
    expect([lookup.one('profile', way, value), lookup.one('links', way, value)]).toEqual([null, null]);
  }
});

test('a lookup does not count as a view, and does not wait for writers', () => {
  const other = openDatabase(config.databasePath, 'use');
  other.$client.run('BEGIN IMMEDIATE');
  other.$client.run("UPDATE profiles SET profile = json_set(profile, '$.viewsCount', 99)");
  expect(profileOf('uid', '7').viewsCount).toBe(0);
  other.$client.run('ROLLBACK');
  other.$client.close();
});

test('a lookup of many shows each commit, of profiles that were found and of those that were missing', () => {
  const queries = [
    { way: 'username', value: 'Bea' },
    { way: 'uid', value: '9' },
  ] as const;
  const found = () => {
    const { profiles, missing } = JSON.parse(`${lookup.many(queries)}`);
    return [profiles.map(({ profile }: { profile: { displayName: string } }) => profile.displayName), missing];
  };
  expect(found()).toEqual([[], [{ username: 'Bea' }, { uid: 9 }]]);
  insertProfile(db, { id: 9, username: 'bea', displayName: 'One' });
  for (const displayName of ['One', 'Other']) {
    db.$client.run('UPDATE profiles SET profile = json_set(profile, ?, ?) WHERE id = 9', [
      '$.displayName',
      displayName,
    ]);
    expect(found()).toEqual([[displayName, displayName], []]);
    expect(found()).toEqual([[displayName, displayName], []]);
  }
});
