import { describe, expect, test } from 'bun:test';
import type { z } from 'zod';
import { readFlags } from '../../../cli/keys/inputs.ts';
import { formFields, readFields } from '../../../server/portal/requests/operation-form.ts';
import { AppError } from '../../../shared/errors.ts';
import { FIELDS, GRANT, KEY_REQUEST, parseInput } from '../../../shared/keys/fields.ts';
import { factsOf, readTyped } from '../../../shared/keys/inputs.ts';
import { newSecret } from '../../../shared/keys/secret.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { DESCRIPTION } from '../../support/keys.ts';
import { notedRandom } from '../../support/secret-search.ts';
import { testClock } from '../../support/world.ts';

// `test/doors.test.ts` sends the inputs of every operation through every door.

/** What is read, or the sentence of the refusal. */
function verdictOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof AppError && error.code === 'usage') return error.message;
    throw error;
  }
}

test.each([
  ['days', ['1', '400'], [1, 400]],
  ['days', ['0', '401', '1.5', 'x', '-1', '1e1'], 'The number of days must be a whole number from 1 to 400.'],
  ['limit', ['0', '1001', 'x'], 'The limit must be a whole number from 1 to 1000.'],
  ['states', ['ACTIVE,pending'], [['Active', 'pending']]],
] as const)('typed %s: %j', (name, texts, wanted) => {
  for (const [at, text] of texts.entries()) {
    const schema: z.ZodType = FIELDS[name];
    const verdict = verdictOf(() => parseInput(schema, readTyped(factsOf(schema), [text], 0)));
    expect([text, verdict]).toEqual([text, typeof wanted === 'string' ? wanted : wanted[at]]);
  }
});

describe('the bounds of texts, in code points', () => {
  const of = (length: number) => '𝒳'.repeat(length);
  const cases: [string, Partial<z.input<typeof KEY_REQUEST>>, boolean][] = [
    ['a name of 255', { name: of(255) }, true],
    ['a name of 256', { name: of(256) }, false],
    ['a description of 80', { description: of(80) }, true],
    ['a description of 79', { description: of(79) }, false],
    ['a description of 79 with white space around', { description: `  ${of(79)}\n ` }, false],
    ['a description of 2000', { description: of(2000) }, true],
    ['a description of 2001', { description: of(2001) }, false],
    ['line feeds in a description', { description: `${DESCRIPTION}\r\nMore.` }, true],
    ['a line feed in a name', { name: 'a\nb' }, false],
    ['an escape sequence in a name', { name: 'a\u001b[31mb' }, false],
    ['an escape sequence in a description', { description: `${DESCRIPTION}\u001b]0;x\u0007` }, false],
    ['an unpaired surrogate in a name', { name: 'a\ud800' }, false],
    ['a name of invisible characters', { name: '\u200b\u2800' }, false],
    ['a name with an invisible character', { name: 'a\u200db' }, true],
    ['both permissions', { permissions: ['api.leaderboard', 'api.lookup'] }, true],
    ['a project URL', { projectUrl: 'https://example.org/x' }, true],
    ['a project URL of 2048', { projectUrl: `https://example.org/${'x'.repeat(2028)}` }, true],
    ['a project URL of 2049', { projectUrl: `https://example.org/${'x'.repeat(2029)}` }, false],
    ['an expected usage of 1000', { expectedUsage: of(1000) }, true],
    ['an expected usage of 1001', { expectedUsage: of(1001) }, false],
  ];
  test.each(cases)('%s', (_name, fields, isAccepted) => {
    const plain = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup'] as const };
    const verdict = verdictOf(() => parseInput(KEY_REQUEST, { ...plain, ...fields }));
    expect(typeof verdict).toBe(isAccepted ? 'object' : 'string');
  });
});

test('no text that people type is stored with the secret of a key', () => {
  const { name, description, expectedUsage, projectUrl, reason } = FIELDS;
  const secret = newSecret('k7Qm2XaB', notedRandom);
  const typed = `https://example.org/?${'It leaked, so replace it'.repeat(5)}&${secret}`.replaceAll(' ', '+');
  for (const schema of [name, description, expectedUsage, projectUrl, reason] as z.ZodType[]) {
    const sentence = `The ${factsOf(schema).label} may not contain the secret of a key; name the key by its identifier.`;
    expect(verdictOf(() => parseInput(schema, typed))).toBe(sentence);
    expect(verdictOf(() => parseInput(schema, typed.replace(secret, secret.slice(0, 40))))).not.toBe(sentence);
  }
});

describe('a form, a URL and flags are read as the same grant', () => {
  const clock = testClock();
  const cases: [flag: 'rateLimit' | 'expires' | 'retireOld' | 'permission', texts: string[]][] = [
    ...['60/1m 5000/1d', '60/60s,5000/24h', ' 7/1m ', '', 'many', '0/1m', '1/1m,2/1m', '1/1s 1/2s 1/3s 1/4s 1/5s'].map(
      (text): ['rateLimit', string[]] => ['rateLimit', [text]],
    ),
    ...['90d', ' 12h ', 'never', '2126-01-31', '2126-01-31T12:00+02:00', '2020-01-01', 'tomorrow'].flatMap(
      (text): ['expires' | 'retireOld', string[]][] => [
        ['expires', [text]],
        ['retireOld', [text]],
      ],
    ),
    ...[['api.leaderboard', 'api.lookup'], ['api.write']].map((texts): ['permission', string[]] => [
      'permission',
      texts,
    ]),
  ];
  const FORM_NAMES = { permission: 'permissions', rateLimit: 'rateLimits', expires: 'expires', retireOld: 'retireOld' };
  const INPUT = {
    permission: 'permissions',
    rateLimit: 'rateLimits',
    expires: 'expiresAtMs',
    retireOld: 'retireOldAtMs',
  } as const;
  const plain = { operation: ['approve'], permissions: ['api.lookup'], rateLimits: ['1/1m'], shown: ['x'] };

  for (const [flag, texts] of cases) {
    test(`${flag} ${JSON.stringify(texts)}`, () => {
      const isMany = flag === 'permission' || flag === 'rateLimit';
      const options = { [flag]: isMany ? texts : texts[0] };
      const given = verdictOf(() => readFlags(OPERATIONS.approve, options, clock.nowMs()));
      const form = new Map(Object.entries({ ...plain, [FORM_NAMES[flag]]: texts }));
      const { values, faults } = readFields(formFields(OPERATIONS.approve, 'admin'), form, clock.nowMs());
      if (typeof given === 'string') {
        expect(Object.fromEntries(faults)).toEqual({ [FORM_NAMES[flag]]: given });
        return;
      }
      const value = (given as Record<string, unknown>)[INPUT[flag]];
      expect<unknown[]>([faults.size, values[INPUT[flag]]]).toEqual([0, value]);
      expect<unknown>(parseInput(GRANT, given)[INPUT[flag]]).toEqual(value);
    });
  }

  test('a reason is trimmed, and its line ends are line feeds', () => {
    const reason = ' Found\r\nin public.\rTwice. ';
    const form = new Map(Object.entries({ operation: ['reject'], reason: [reason], shown: ['x'] }));
    const { values } = readFields(formFields(OPERATIONS.reject, 'admin'), form, clock.nowMs());
    expect([values.reason, parseInput(FIELDS.reason, reason)]).toEqual(Array(2).fill('Found\nin public.\nTwice.'));
  });
});
