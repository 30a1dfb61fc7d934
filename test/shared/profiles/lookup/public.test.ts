import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { links } from '../../../../shared/db/schema/profiles.ts';
import type { StoredLink } from '../../../../shared/profiles/field-values.ts';
import type { LookupBy } from '../../../../shared/profiles/lookup/lookup.ts';
import { ANY_CHARACTER } from '../../../support/input-values.ts';
import { insertProfile } from '../../../support/profiles.ts';
import { readingOf } from '../../../support/reading.ts';
import { testDeps } from '../../../support/world.ts';

/** A database, and the responses of lookups. */
function world() {
  const deps = testDeps();
  const { lookup } = readingOf(deps);
  return {
    insert: (columns: Parameters<typeof insertProfile>[1], rows: StoredLink[] = []) => {
      const profileId = insertProfile(deps.db, columns);
      for (const [position, row] of rows.entries()) {
        deps.db
          .insert(links)
          .values({ ...row, profileId, position })
          .run();
      }
    },
    profileBody: (id: number, way: LookupBy = 'uid', value = String(id)) => lookup.profile(way, value)?.text.body ?? '',
    linksBody: (id: number, way: LookupBy = 'uid', value = String(id)) => lookup.links(way, value)?.text.body ?? '',
  };
}

describe('a SimplifiedProfile', () => {
  test('has the specification’s fields in its order', () => {
    const { insert, profileBody } = world();
    insert({
      id: 7,
      username: 'Ada "the first"',
      displayName: '☃ \\\u2028\n',
      badges: '[{"name":"early","enabled":true}]',
      assets: '{"avatar":null}',
      customize: '{"a":[1,{"b":"\\u0000"}]}',
      viewsCount: 9_007_199_254_740_991,
      followersCount: 0,
      createdAt: Date.parse('2024-05-01T00:00:00.007Z'),
    });
    expect(profileBody(7)).toBe(
      JSON.stringify({
        id: 7,
        username: 'Ada "the first"',
        displayName: '☃ \\\u2028\n',
        badges: [{ name: 'early', enabled: true }],
        assets: { avatar: null },
        customize: { a: [1, { b: '\0' }] },
        discordID: null,
        discordClean: {},
        banned: false,
        viewsCount: 9_007_199_254_740_991,
        followersCount: 0,
        createdAt: '2024-05-01T00:00:00.007Z',
      }),
    );
  });
});

describe('links', () => {
  const bare: StoredLink = {
    id: 'l1',
    name: 'n',
    link: 'https://x',
    title: null,
    image: null,
    clicksCount: null,
    linkMode: null,
  };

  test('an optional field without a value is absent, an empty or zero one is present', () => {
    const { insert, linksBody } = world();
    insert({ id: 1 }, [bare, { ...bare, title: '', image: 'https://i', clicksCount: 0, linkMode: 'button' }]);
    insert({ id: 2 });
    expect(linksBody(1)).toBe(
      '{"links":[{"id":"l1","name":"n","link":"https://x"},{"id":"l1","name":"n","link":"https://x","title":"","image":"https://i","clicksCount":0,"linkMode":"button"}]}',
    );
    expect(linksBody(2)).toBe('{"links":[]}');
  });
});

test('for any profile and its links, SQLite writes the same JSON as JSON.stringify', () => {
  const { insert, profileBody, linksBody } = world();
  const text = fc.string({ unit: ANY_CHARACTER, maxLength: 20 }).filter((some) => !some.includes('\0'));
  const count = fc.maxSafeNat();
  const object = fc.dictionary(text, fc.jsonValue());
  const profile = fc.record({
    displayName: text,
    badges: fc.array(text),
    assets: object,
    customize: object,
    discordID: fc.option(text),
    discordClean: object,
    banned: fc.boolean(),
    viewsCount: count,
    followersCount: count,
    createdAt: fc.integer({ min: Date.parse('0001-01-01T00:00Z'), max: Date.parse('9999-12-31T23:59:59.999Z') }),
  });
  const link = fc.record({
    ...{ id: text, name: text, link: text, title: fc.option(text), image: fc.option(text) },
    ...{ clicksCount: fc.option(count), linkMode: fc.option(text) },
  });
  let id = 0;
  fc.assert(
    fc.property(profile, fc.boolean(), fc.array(link, { maxLength: 12 }), (fields, showFollowersCount, rows) => {
      const username = `Ünal "${++id}\\`;
      const { badges, assets, customize, discordID, discordClean, ...columns } = fields;
      insert(
        {
          ...{ ...columns, id, username, showFollowersCount, discordId: discordID },
          ...{ badges: JSON.stringify(badges), assets: JSON.stringify(assets) },
          ...{ customize: JSON.stringify(customize), discordClean: JSON.stringify(discordClean) },
        },
        rows,
      );
      const followersCount = showFollowersCount ? fields.followersCount : null;
      const createdAt = new Date(fields.createdAt).toISOString();
      const body = JSON.stringify({ id, username, ...fields, followersCount, createdAt });
      expect([profileBody(id), profileBody(id, 'username', username)]).toEqual([body, body]);
      const shown = rows.map(({ id, name, link, title, image, clicksCount, linkMode }) => ({
        ...{ id, name, link, title: title ?? undefined, image: image ?? undefined },
        ...{ clicksCount: clicksCount ?? undefined, linkMode: linkMode ?? undefined },
      }));
      const linksText = JSON.stringify({ links: shown });
      expect([linksBody(id), linksBody(id, 'username', username)]).toEqual([linksText, linksText]);
    }),
  );
});
