import { describe, expect, test } from 'bun:test';
import { type LinkRow, linksBody, type PublicRow, simplifiedProfile } from '../../../shared/profiles/public.ts';

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
