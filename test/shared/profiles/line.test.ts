import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseIsoTime } from '../../../shared/clock.ts';
import { type ProfileLine, parseLine } from '../../../shared/profiles/line.ts';
import { ANY_CHARACTER } from '../../support/rounds.ts';

const textOf = (fields: object | string) =>
  typeof fields === 'string' ? fields : JSON.stringify({ id: 7, username: 'Ada', ...fields });

function read(fields: object | string): ProfileLine {
  const parsed = parseLine(textOf(fields));
  if ('reason' in parsed) throw new Error(parsed.reason);
  return parsed;
}

function reasonOf(fields: object | string): string {
  const parsed = parseLine(textOf(fields));
  return 'reason' in parsed ? parsed.reason : 'accepted';
}

describe('a line', () => {
  test('leaves absent fields absent', () => {
    expect(read({})).toEqual({ id: 7, fields: { id: 7, username: 'Ada' }, dropped: [] });
  });

  test('that deletes needs only an id, and works even if the rest is malformed', () => {
    expect(parseLine('{"id":7,"deleted":true,"username":5}')).toMatchObject({ id: 7, fields: null });
    expect(reasonOf('{"deleted":true}')).toBe('id is missing');
    expect(read({ deleted: false }).fields).not.toBeNull();
  });

  test('is refused with the field and the rule', () => {
    const refusals: [object | string, string][] = [
      ['', 'the line is not valid JSON'],
      ['{"id":7', 'the line is not valid JSON'],
      ['[]', 'the line must be an object'],
      ['null', 'the line must be an object'],
      ['{"username":"Ada"}', 'id is missing'],
      [{ id: 0 }, 'id must be a whole number from 1 to 9007199254740991'],
      [{ id: 1.5 }, 'id must be'],
      [{ id: '7' }, 'id must be'],
      ['{"id":9007199254740992,"username":"Ada"}', 'id must be'],
      [{ username: 5 }, 'username must be a string'],
      [{ username: 'a/b' }, 'username may not contain a slash'],
      [{ aliases: 'x' }, 'aliases must be a list'],
      [{ badges: {} }, 'badges must be a list'],
      [{ badges: [{ name: 'x' }] }, 'badges[0].enabled must be true or false'],
      [{ badges: [null] }, 'badges[0] must be an object'],
      [{ assets: [] }, 'assets must be an object'],
      [{ assets: { a: 5 } }, 'assets may have only strings and null'],
      [{ customize: [] }, 'customize must be an object'],
      ['{"id":7,"username":"Ada","customize":{"a":1e400}}', 'customize contains a number'],
      ['{"id":7,"username":"Ada","discordClean":{"id":123456789012345678}}', 'discordClean contains a number'],
      ['{"id":7,"username":"Ada","note":[[{"a" : -123456789012345678}]]}', 'note contains a number'],
      ['{"id":7,"username":"Ada","links":[{"id":"l","x":1.5e300}]}', 'links contains a number'],
      ['{"id":7,"username":"Ada","customize":{"a":["\\ud800"]}}', 'customize may not contain'],
      ['{"id":7,"username":"Ada","customize":{"a\\u0000":1}}', 'customize may not contain'],
      ['{"id":7,"username":"Ada","displayName":"\\ud800"}', 'displayName may not contain'],
      [`{"id":7,"username":"Ada","customize":${'{"a":'.repeat(65)}1${'}'.repeat(65)}}`, 'nested at most 64'],
      [`{"id":7,"username":"Ada","customize":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`, 'nested at most 64'],
      [{ discordID: 5 }, 'discordID must be a string'],
      [{ banned: 1 }, 'banned must be true or false'],
      [{ viewsCount: -1 }, 'viewsCount must be a number of at least 0'],
      [{ followersCount: '5' }, 'followersCount must be a number'],
      [{ createdAt: '2024-05-01' }, 'createdAt must be'],
      [{ createdAt: 0 }, 'createdAt must be'],
      [{ links: {} }, 'links must be a list'],
    ];
    for (const [fields, reason] of refusals) expect(reasonOf(fields)).toContain(reason);
  });

  test('is refused with all its faults, the first ten by name', () => {
    expect(parseLine('{"id":7,"username":"a/b","banned":1,"viewsCount":-1}')).toMatchObject({
      id: 7,
      field: 'username',
      reason:
        'username may not contain a slash; banned must be true or false; viewsCount must be a number of at least 0',
    });
    const reason = reasonOf({ badges: Array(14).fill(null) });
    expect(reason).toEndWith('; badges[9] must be an object; and 4 more');
  });

  test('is refused without its private values', () => {
    for (const field of ['createdAt', 'username', 'viewsCount', 'displayName']) {
      expect(reasonOf({ [field]: 'S3CRET/\u0000' })).not.toContain('S3CRET');
    }
    expect(reasonOf('{"id":7,"email":"S3CRET')).not.toContain('S3CRET');
    expect(JSON.stringify(read({ email: 'S3CRET/\u0000', authId: '\u0000S3CRET' }))).not.toContain('S3CRET');
  });

  test('may have any number, and null for absent', () => {
    const given = { viewsCount: 1.5, followersCount: 0, displayName: null, links: null, email: null, username: null };
    expect(read(given).fields).toMatchObject(given);
  });

  test('is read without what is bad in it: an address, an auth ID, entries of aliases and links, and unknown fields', () => {
    const good = { id: 'l', name: 'n', link: 'https://x', clicksCount: 2.5 };
    const { fields, dropped } = read({
      email: 'josé@example.org',
      authId: 5,
      aliases: ['ok', 'a/b', 7, '\u200bx', 'fine'],
      links: [
        good,
        { ...good, title: null, image: null, linkMode: null },
        { ...good, title: 5 },
        { id: 'l' },
        null,
        { ...good, link: 'javascript:alert(1)' },
        { ...good, owner: 'x' },
      ],
      password: 'x',
      badges: [{ name: 'b', enabled: true, secret: 1 }],
    });
    expect(fields).toEqual({
      id: 7,
      username: 'Ada',
      aliases: ['ok', 'fine'],
      authId: null,
      email: null,
      badges: [{ name: 'b', enabled: true }],
      links: [good, good, good],
    });
    expect(dropped.map(({ field, reason }) => `${field} ${reason}`).sort()).toEqual(
      [
        'aliases may not contain a slash',
        'aliases may not contain invisible or direction-changing characters',
        'aliases must be a string',
        'authId must be a string',
        'badges.secret is unknown',
        'email must be one plain e-mail address',
        'links must be an object',
        'links.link leads to javascript:, vbscript: or data:',
        'links.name must be a string',
        'links.owner is unknown',
        'links.title must be a string',
        'password is unknown',
      ].sort(),
    );
  });

  test('gives an address without the blanks around it', () => {
    expect(read({ email: ' ada@example.org\t' }).fields?.email).toBe('ada@example.org');
    for (const email of ['', 'a@b\r\nBcc: c@d', 'Ada <ada@example.org>', 'a@b, c@d']) {
      expect(read({ email })).toMatchObject({ fields: { email: null }, dropped: [{ field: 'email' }] });
    }
  });

  test('keeps a key called __proto__ as plain data', () => {
    const { fields, dropped } = read(
      '{"id":7,"username":"Ada","customize":{"__proto__":{"x":1}},"assets":{"__proto__":null},"__proto__":{"banned":true}}',
    );
    expect(JSON.stringify(fields)).toBe(
      '{"id":7,"username":"Ada","assets":{"__proto__":null},"customize":{"__proto__":{"x":1}}}',
    );
    expect(dropped).toMatchObject([{ field: '__proto__' }]);
    expect([({} as { x?: unknown }).x, fields?.banned]).toEqual([undefined, undefined]);
  });

  test('keeps any open object as JSON does', () => {
    const json = fc.dictionary(
      fc.string(),
      fc
        .jsonValue({ maxDepth: 4, stringUnit: ANY_CHARACTER })
        .filter((value) => !/\\u0000|e\+/.test(JSON.stringify(value))),
    );
    fc.assert(
      fc.property(json, (object) => {
        const text = JSON.stringify({ id: 1, username: 'a', customize: object });
        const parsed = parseLine(text);
        if ('reason' in parsed) return /surrogates or NUL|beyond/.test(parsed.reason);
        return JSON.stringify(parsed.fields) === JSON.stringify(JSON.parse(text));
      }),
    );
  });

  test('never throws, whatever the text', () => {
    const names = ['id', 'username', 'aliases', 'badges', 'links', 'assets', 'createdAt', 'deleted', 'x', '__proto__'];
    const object = fc.dictionary(fc.constantFrom(...names), fc.jsonValue()).map((one) => JSON.stringify(one));
    fc.assert(fc.property(fc.oneof(fc.string(), object), (text) => void parseLine(text)));
  });
});

describe('a link', () => {
  const isKept = (link: string) => read({ links: [{ id: 'l', name: 'n', link }] }).dropped.length === 0;

  test('is left out if a browser would read it as one of three schemes', () => {
    const noise = fc.constantFrom('', '\t', '\n', '\r', '\t\n');
    const letters = (scheme: string) =>
      fc.tuple(
        ...[...scheme].map((char) => fc.tuple(fc.constantFrom(char, char.toUpperCase()), noise).map(([a, b]) => a + b)),
      );
    const before = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\u0001', '\u001f'), maxLength: 4 });
    const schemes = ['javascript:', 'vbscript:', 'data:'];
    const scheme = fc.oneof(...schemes.map((name) => letters(name).map((parts) => parts.join(''))));
    fc.assert(
      fc.property(before, scheme, (start, name) => {
        const address = `${start}${name}x`;
        expect(schemes).toContain(new URL(address).protocol);
        expect(isKept(address)).toBe(false);
      }),
    );
  });

  test('stays with any other scheme', () => {
    const safe = ['https://x/javascript:1', 'mailto:a@b', 'ftp://x', '/data:', 'xjavascript:x', 'javascript', ''];
    for (const link of safe) expect([link, isKept(link)]).toEqual([link, true]);
  });
});

test('createdAt may be any ISO 8601 time with a zone, and is given in UTC with milliseconds', () => {
  for (const [text, iso] of [
    ['2024-05-01T00:00:00.000Z', '2024-05-01T00:00:00.000Z'],
    ['2024-05-01t02:00:00+02:00', '2024-05-01T00:00:00.000Z'],
    ['2024-04-30T19:30-0430', '2024-05-01T00:00:00.000Z'],
    ['2024-02-29T23:59:59.1239Z', '2024-02-29T23:59:59.123Z'],
    ['2024-05-01T00:00:00.5z', '2024-05-01T00:00:00.500Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ] as const) {
    expect(read({ createdAt: text }).fields?.createdAt).toBe(iso);
  }
  for (const text of [
    ...['2024-05-01T00:00:00', '2024-05-01', '2023-02-29T00:00:00Z', '2024-13-01T00:00:00Z', '2024-00-10T00:00:00Z'],
    ...['2024-05-01T24:00:00Z', '2024-05-01T00:60:00Z', '2024-05-01T00:00:60Z', '2024-05-01T00:00:00+24:00'],
    ...['0000-12-31T23:59:59Z', '0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00', '+002024-05-01T00:00:00Z'],
    ...['٢٠٢٤-05-01T00:00:00Z', ' 2024-05-01T00:00:00Z', '1714521600000'],
  ]) {
    expect([text, parseIsoTime(text)]).toEqual([text, null]);
  }
});
