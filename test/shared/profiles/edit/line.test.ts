import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseIsoTime } from '../../../../shared/iso-time.ts';
import { type ProfileLine, parseLine } from '../../../../shared/profiles/edit/line.ts';
import { ANY_CHARACTER } from '../../../support/input-values.ts';

function read(fields: object): ProfileLine {
  const parsed = parseLine(JSON.stringify({ id: 7, username: 'Ada', ...fields }), false);
  if ('reason' in parsed) throw new Error(parsed.reason);
  return parsed;
}

function reasonOf(fields: object | string): string {
  const text = typeof fields === 'string' ? fields : JSON.stringify({ id: 7, username: 'Ada', ...fields });
  const parsed = parseLine(text, false);
  return 'reason' in parsed ? parsed.reason : 'accepted';
}

describe('a line', () => {
  test('needs an id and a username; a merging line only an id', () => {
    expect(reasonOf('{"id":7}')).toBe('username is missing');
    expect(reasonOf('{"username":"Ada"}')).toBe('id is missing');
    expect(parseLine('{"id":7}', true)).toMatchObject({ id: 7, username: undefined });
  });

  test('leaves absent fields undefined', () => {
    expect(read({})).toEqual({
      id: 7,
      deleted: false,
      username: { name: 'Ada', folded: 'ada' },
      aliases: undefined,
      columns: {},
      links: undefined,
      unknown: [],
      droppedLinks: 0,
    });
  });

  test('that deletes needs only an id, and works even if the rest is malformed', () => {
    expect(parseLine('{"id":7,"deleted":true,"username":5}', false)).toMatchObject({ id: 7, deleted: true });
    expect(reasonOf('{"deleted":true}')).toStartWith('id must be');
    expect(read({ deleted: false }).deleted).toBe(false);
  });

  test('is refused with the field and the rule', () => {
    const refusals: [object | string, string][] = [
      ['', 'not valid JSON'],
      ['{"id":7', 'not valid JSON'],
      ['[]', 'must be an object'],
      ['null', 'must be an object'],
      [{ id: 0 }, 'id must be'],
      [{ id: 1.5 }, 'id must be'],
      [{ id: '7' }, 'id must be'],
      ['{"id":9007199254740992,"username":"Ada"}', 'id must be'],
      [{ username: 5 }, 'username must be a string'],
      [{ username: 'a/b' }, 'username may not contain a slash'],
      [{ aliases: 'x' }, 'aliases must be a list'],
      [{ aliases: ['ok', 'a\u202eb'] }, 'aliases[1] may not contain'],
      [{ aliases: ['ADA'] }, 'may not repeat the username'],
      [{ aliases: ['x', 'Ｘ'] }, 'same name twice'],
      [{ authId: 'auth|\ufffd' }, 'authId may not contain U+FFFD, the replacement character, because request paths'],
      [{ authId: '' }, 'authId must have 1 to 255 bytes'],
      [{ authId: 5 }, 'authId must be a string or null'],
      [{ email: 'a@b\r\nBcc: c@d' }, 'email must be'],
      [{ email: '' }, 'email must be'],
      [{ displayName: null }, 'displayName must be a string'],
      [{ badges: {} }, 'badges must be a list'],
      [{ badges: [{ name: 'x' }] }, 'badges[0].enabled must be true or false'],
      [{ badges: [null] }, 'badges[0] must be an object'],
      [{ assets: [] }, 'assets must be an object'],
      [{ assets: { a: 5 } }, 'each value of assets'],
      [{ customize: [] }, 'customize must be an object'],
      [{ customize: null }, 'customize must be an object'],
      ['{"id":7,"username":"Ada","customize":{"a":1e400}}', 'customize contains a number'],
      ['{"id":7,"username":"Ada","discordClean":{"id":123456789012345678}}', 'discordClean contains a number'],
      ['{"id":7,"username":"Ada","customize":{"a":["\\ud800"]}}', 'each string in customize'],
      ['{"id":7,"username":"Ada","customize":{"a\\u0000":1}}', 'each key in customize'],
      ['{"id":7,"username":"Ada","displayName":"\\ud800"}', 'displayName may not contain'],
      [`{"id":7,"username":"Ada","customize":${'{"a":'.repeat(65)}1${'}'.repeat(65)}}`, 'nested at most 64'],
      [`{"id":7,"username":"Ada","customize":{"a":${'['.repeat(300_000)}${']'.repeat(300_000)}}}`, 'nested at most 64'],
      [{ discordID: 5 }, 'discordID must be a string or null'],
      [{ banned: 1 }, 'banned must be true or false'],
      [{ viewsCount: -1 }, 'viewsCount must be a whole number'],
      [{ followersCount: 1.5 }, 'followersCount must be a whole number'],
      [{ followersCount: null }, 'followersCount must be a whole number'],
      [{ createdAt: '2024-05-01' }, 'createdAt must be'],
      [{ createdAt: 0 }, 'createdAt must be'],
      [{ links: [{ id: 'l', name: 'n' }] }, 'links[0].link must be a string'],
      [{ links: [{ id: 'l', name: 'n', link: 'x', clicksCount: -1 }] }, 'links[0].clicksCount'],
      [{ links: [{ id: 'l', name: 'n', link: 'x', title: 5 }] }, 'links[0].title'],
    ];
    for (const [fields, reason] of refusals) expect(reasonOf(fields)).toContain(reason);
  });

  test('is refused without its private values', () => {
    for (const field of ['email', 'authId', 'createdAt', 'username', 'viewsCount']) {
      expect(reasonOf({ [field]: 'S3CRET/\u0000' })).not.toContain('S3CRET');
    }
    expect(reasonOf('{"id":7,"email":"S3CRET')).not.toContain('S3CRET');
  });

  test('reports the names of unknown fields, whose values are dropped', () => {
    const line = read({
      password: 'x',
      badges: [{ name: 'b', enabled: true, secret: 1 }],
      links: [{ id: 'l', name: 'n', link: 'x', owner: 1 }],
    });
    expect(line.unknown).toEqual(['password', 'badges.secret', 'links.owner']);
    expect(JSON.stringify({ ...line, unknown: [] })).not.toMatch(/secret|owner|password/);
  });

  test('keeps a key called __proto__ as plain data', () => {
    const text = '{"id":7,"username":"Ada","customize":{"__proto__":{"x":1}},"__proto__":{"banned":true}}';
    const line = parseLine(text, false) as ProfileLine;
    expect(line.columns).toEqual({ customize: '{"__proto__":{"x":1}}' });
    expect(line.unknown).toEqual(['__proto__']);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  test('treats null as an absent optional field of a link', () => {
    const link = { id: 'l', name: 'n', link: 'x', title: null, image: null, clicksCount: null, linkMode: null };
    expect(read({ links: [link] }).links).toEqual([link]);
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
        const parsed = parseLine(JSON.stringify({ id: 1, username: 'a', customize: object }), false);
        if ('reason' in parsed) return /surrogates or NUL|beyond/.test(parsed.reason);
        return parsed.columns.customize === JSON.stringify(JSON.parse(JSON.stringify(object)));
      }),
    );
  });

  test('never throws, whatever the text', () => {
    const field = fc.constantFrom(
      'id',
      'username',
      'aliases',
      'badges',
      'links',
      'assets',
      'createdAt',
      'deleted',
      'x',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.dictionary(field, fc.jsonValue()).map((o) => JSON.stringify(o)),
        ),
        (text) => {
          parseLine(text, true);
        },
      ),
    );
  });
});

describe('createdAt', () => {
  test('may be any ISO 8601 time with a zone', () => {
    for (const [text, iso] of [
      ['2024-05-01T00:00:00.000Z', '2024-05-01T00:00:00.000Z'],
      ['2024-05-01t02:00:00+02:00', '2024-05-01T00:00:00.000Z'],
      ['2024-04-30T19:30-0430', '2024-05-01T00:00:00.000Z'],
      ['2024-02-29T23:59:59.1239Z', '2024-02-29T23:59:59.123Z'],
      ['2024-05-01T00:00:00.5z', '2024-05-01T00:00:00.500Z'],
      ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
      ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ] as const) {
      expect(new Date(parseIsoTime(text) as number).toISOString()).toBe(iso);
    }
  });

  test('may not be anything else', () => {
    for (const text of [
      '2024-05-01T00:00:00',
      '2024-05-01',
      '2023-02-29T00:00:00Z',
      '2024-13-01T00:00:00Z',
      '2024-00-10T00:00:00Z',
      '2024-05-01T24:00:00Z',
      '2024-05-01T00:60:00Z',
      '2024-05-01T00:00:60Z',
      '2024-05-01T00:00:00+24:00',
      '0000-12-31T23:59:59Z',
      '0001-01-01T00:00:00+01:00',
      '9999-12-31T23:59:59-01:00',
      '+002024-05-01T00:00:00Z',
      '٢٠٢٤-05-01T00:00:00Z',
      ' 2024-05-01T00:00:00Z',
      '1714521600000',
    ]) {
      expect(parseIsoTime(text)).toBeNull();
    }
  });

  test('survives an export and an import', () => {
    const range = {
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    };
    fc.assert(fc.property(fc.date(range), (date) => parseIsoTime(date.toISOString()) === date.getTime()));
  });
});
