import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { links } from '../../../shared/db/schema.ts';
import { type LinkRow, linksBody, type PublicRow, simplifiedProfile } from '../../../shared/profiles/public.ts';
import { insertProfile } from '../../support/profiles.ts';
import { readingOf } from '../../support/reading.ts';
import { testDeps } from '../../support/world.ts';

const ROW: PublicRow = {
  id: 7,
  username: 'Ada "the first"\u2028\n',
  displayName: '☃ \\',
  badges: '[{"name":"early","enabled":true}]',
  assets: '{"avatar":null}',
  customize: '{"a":[1,{"b":"\\u0000"}]}',
  discordID: null,
  discordClean: '{}',
  banned: 0,
  viewsCount: 9_007_199_254_740_991,
  followersCount: 3,
  createdAt: Date.parse('2024-05-01T00:00:00.007Z'),
};

describe('a SimplifiedProfile', () => {
  test('has the specification’s fields in its order', () => {
    const text = simplifiedProfile(ROW);
    expect(JSON.parse(text)).toEqual({
      id: 7,
      username: ROW.username,
      displayName: ROW.displayName,
      badges: [{ name: 'early', enabled: true }],
      assets: { avatar: null },
      customize: { a: [1, { b: '\0' }] },
      discordID: null,
      discordClean: {},
      banned: false,
      viewsCount: 9_007_199_254_740_991,
      followersCount: 3,
      createdAt: '2024-05-01T00:00:00.007Z',
    });
    expect(Object.keys(JSON.parse(text)).join()).toBe(
      'id,username,displayName,badges,assets,customize,discordID,discordClean,banned,viewsCount,followersCount,createdAt',
    );
    expect(text).toBe(JSON.stringify(JSON.parse(text)));
  });

  test('no followers count is null, zero is zero', () => {
    expect(JSON.parse(simplifiedProfile({ ...ROW, followersCount: null })).followersCount).toBeNull();
    expect(JSON.parse(simplifiedProfile({ ...ROW, followersCount: 0 })).followersCount).toBe(0);
    expect(JSON.parse(simplifiedProfile({ ...ROW, banned: 1, discordID: '1"' }))).toMatchObject({
      banned: true,
      discordID: '1"',
    });
  });
});

describe('links', () => {
  const bare: LinkRow = {
    id: 'l1',
    name: 'n',
    link: 'https://x',
    title: null,
    image: null,
    clicksCount: null,
    linkMode: null,
  };

  test('an optional field without a value is absent, an empty or zero one is there', () => {
    const full = { ...bare, title: '', image: 'https://i', clicksCount: 0, linkMode: 'button' };
    expect(linksBody([bare, full])).toBe(
      '{"links":[{"id":"l1","name":"n","link":"https://x"},{"id":"l1","name":"n","link":"https://x","title":"","image":"https://i","clicksCount":0,"linkMode":"button"}]}',
    );
    expect(linksBody([])).toBe('{"links":[]}');
  });
});

test('what SQLite writes is what is written here, for any profile and its links', () => {
  const deps = testDeps();
  const { lookup } = readingOf(deps);
  const text = fc.string({ unit: 'binary', maxLength: 20 }).filter((some) => !some.includes('\0'));
  const count = fc.maxSafeNat();
  const json = fc.dictionary(text, fc.jsonValue()).map((value) => JSON.stringify(value));
  const profile = fc.record({
    displayName: text,
    badges: fc.array(text).map((value) => JSON.stringify(value)),
    assets: json,
    customize: json,
    discordId: fc.option(text),
    discordClean: json,
    banned: fc.boolean(),
    viewsCount: count,
    followersCount: count,
    showFollowersCount: fc.boolean(),
    createdAt: fc.integer({ min: Date.parse('0001-01-01T00:00Z'), max: Date.parse('9999-12-31T23:59:59.999Z') }),
  });
  const link = fc.record({
    ...{ id: text, name: text, link: text, title: fc.option(text), image: fc.option(text) },
    ...{ clicksCount: fc.option(count), linkMode: fc.option(text) },
  });
  let id = 0;
  fc.assert(
    fc.property(profile, fc.array(link, { maxLength: 12 }), (columns, rows) => {
      const username = `Ünal "${++id}\\`;
      insertProfile(deps.db, { ...columns, id, username });
      for (const [position, row] of rows.entries()) {
        deps.db
          .insert(links)
          .values({ ...row, profileId: id, position })
          .run();
      }
      const followersCount = columns.showFollowersCount ? columns.followersCount : null;
      const row = {
        ...columns,
        id,
        username,
        discordID: columns.discordId,
        banned: Number(columns.banned),
        followersCount,
      };
      for (const [way, value] of [
        ['uid', String(id)],
        ['username', username],
      ] as const) {
        expect(lookup.profile(way, value).text.body).toBe(simplifiedProfile(row));
        expect(lookup.links(way, value).text.body).toBe(linksBody(rows));
      }
    }),
  );
});
