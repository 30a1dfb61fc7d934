import { describe, expect, test } from 'bun:test';
import { readFlags } from '../../../../cli/keys/command.ts';
import { decidedFields, fieldsOf, readDecision } from '../../../../server/portal/passkeys/decision-form.ts';
import { AppError } from '../../../../shared/errors.ts';
import { GRANT } from '../../../../shared/keys/fields/input-groups.ts';
import { FIELDS } from '../../../../shared/keys/fields/inputs.ts';
import { parseInput } from '../../../../shared/keys/fields/parse-input.ts';
import { OPERATIONS, perform } from '../../../../shared/operations.ts';
import type { Signed } from '../../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../../shared/sign-ins/binding.ts';
import { onBox } from '../../../support/actors.ts';
import { profilectl } from '../../../support/cli.ts';
import { importLines } from '../../../support/import.ts';
import { DESCRIPTION, keysListed } from '../../../support/keys.ts';
import { call, personTokenFor } from '../../../support/portal/manage.ts';
import {
  pageWorld,
  plainNumbers,
  serverOfPages,
  signInOwner,
  unescaped,
  visit,
} from '../../../support/portal/pages.ts';
import { testClock } from '../../../support/world.ts';

// One input, one verdict: whichever door it comes through, the same is stored, or the same sentence refuses it.

const world = pageWorld({ PUBLIC_URL: 'http://localhost:3000' });
const { access } = world;
const server = await serverOfPages(world);
const FORM_LINE_END = '\r\n';

type Asked = { name: string; description: string; permissions: string[]; projectUrl?: string; expectedUsage?: string };
const PLAIN: Asked = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup'] };

/** Each asks for a key as an own profile does, or as the operator for it, and returns the sentence of a refusal. */
type Door = (asked: Asked, owner: { id: number; profile: string }) => Promise<string | null>;

const DOORS: Record<string, Door> = {
  'the function': async (asked, { profile }) => {
    try {
      await perform(access, onBox('root'), OPERATIONS.request, { ...asked, profile });
      return null;
    } catch (error) {
      if (error instanceof AppError && error.code === 'usage') return error.message;
      throw error;
    }
  },
  'the form': async ({ permissions, ...texts }, { id }) => {
    const fields = Object.entries(texts).map(([name, text]): [string, string] => [
      name,
      // As browsers send it.
      text.replaceAll(/\r\n?|\n/g, FORM_LINE_END),
    ]);
    const boxes = permissions.map((value): [string, string] => ['permissions', value]);
    const cookie = signInOwner(access, id);
    const answer = await visit(world, '/developers/keys/new', { form: [...fields, ...boxes], cookie });
    if (answer.status === 303) return null;
    const [, fault = ''] = /<div class="summary"[\s\S]*?<a [^>]*>([^<]*)</.exec(answer.body) ?? [];
    return plainNumbers(unescaped(fault));
  },
  JSON: async (asked, { id }) => {
    const token = personTokenFor(access, ownerToSign(access, id) as Signed);
    const answer = await call(server, '/manage/v1/keys', token, { body: asked });
    return answer.status === 201 ? null : ((await answer.json()) as { error: string }).error;
  },
  profilectl: async ({ permissions, ...texts }, { profile }) => {
    const flags = Object.entries(texts).flatMap(([name, text]) => [
      `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}=${text}`,
    ]);
    const words = ['keys', 'request', '--profile', profile, ...flags, '--permission', ...permissions];
    const variables = { DATABASE_PATH: access.config.databasePath };
    const { code, stderr } = await profilectl(words, { variables });
    return code === 0 ? null : stderr.trim();
  },
};

const of = (length: number) => 'x'.repeat(length);
const INPUTS: [what: string, changes: Partial<Asked>][] = [
  ['a name with space around', { name: ' \t Bot\r\n' }],
  ['the longest name, in code points', { name: '😀'.repeat(255) }],
  ['a name that is too long', { name: of(256) }],
  ['an empty name', { name: '' }],
  ['a name of spaces', { name: '   ' }],
  ['a name of two lines', { name: 'a\nb' }],
  ['a name with an escape sequence', { name: 'a\u001b[31mb' }],
  ['all kinds of line ends', { description: `\r\n${DESCRIPTION}\r\nCRLF\rCR\nLF\r\r\n` }],
  ['a description that is too short once it is trimmed', { description: `  ${of(79)}\r\n ` }],
  ['the longest description, its line ends counted once', { description: `${of(1_998)}\r\nx` }],
  ['a description that is too long', { description: of(2_001) }],
  ['a description with a bell', { description: `${DESCRIPTION}\u0007` }],
  ['an expected usage of spaces', { expectedUsage: ' \r\n ' }],
  ['an expected usage of lines', { expectedUsage: ' a\r\nb\rc ' }],
  ['an expected usage that is too long', { expectedUsage: of(1_001) }],
  ['an empty project URL', { projectUrl: '' }],
  ['a project URL with space around', { projectUrl: ' https://example.org/x\r\n' }],
  ['a project URL of two lines', { projectUrl: 'https://example.org/a\r\nb' }],
  ['a project URL of another scheme', { projectUrl: 'ftp://example.org' }],
  ['permissions twice, in another order', { permissions: ['api.leaderboard', 'api.lookup', 'api.lookup'] }],
  ['an unknown permission', { permissions: ['api.lookup', 'api.write'] }],
];

describe('every door gives the same verdict on a request, and stores the same', () => {
  let profiles = 0;
  for (const [what, changes] of INPUTS) {
    test(what, async () => {
      const verdicts = new Map<string, unknown>();
      for (const [door, send] of Object.entries(DOORS)) {
        const id = ++profiles;
        const profile = `owner${id}`;
        await importLines(access, [{ id, username: profile, email: `${profile}@example.org` }]);
        const fault = await send({ ...PLAIN, ...changes }, { id, profile });
        const [key] = await keysListed(access, { profile });
        expect([door, key === undefined]).toEqual([door, fault !== null]);
        const { name, description, projectUrl, expectedUsage, requestedPermissions } = key ?? {};
        verdicts.set(door, fault ?? { name, description, projectUrl, expectedUsage, requestedPermissions });
      }
      const [wanted] = verdicts.values();
      expect(Object.fromEntries(verdicts)).toEqual(
        Object.fromEntries(Object.keys(DOORS).map((door) => [door, wanted])) as Record<string, unknown>,
      );
    }, 60_000);
  }
});

describe('a form, an address and the flags say the same grant', () => {
  const clock = testClock();
  const verdictOf = (read: () => unknown) => {
    try {
      return read();
    } catch (error) {
      if (error instanceof AppError && error.code === 'usage') return error.message;
      throw error;
    }
  };
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
      const { decision, faults } = readDecision(form, 'k7Qm2XaB', clock.nowMs());
      if (typeof given === 'string') {
        expect(Object.fromEntries(faults)).toEqual({ [FORM_NAMES[flag]]: given });
        return;
      }
      const value = (given as Record<string, unknown>)[INPUT[flag]];
      expect<unknown[]>([faults.size, decision.input[INPUT[flag]]]).toEqual([0, value]);
      expect<unknown>(parseInput(GRANT, given)[INPUT[flag]]).toEqual(value);
      // What is sent again to be confirmed is the same decision.
      const again = new Map<string, string[]>();
      const sent = fieldsOf(decidedFields(OPERATIONS.approve), decision);
      for (const [name, text] of [['operation', 'approve'], ...sent, ['shown', 'x']] as const)
        again.set(name, [...(again.get(name) ?? []), text]);
      expect(readDecision(again, 'k7Qm2XaB', clock.nowMs()).decision).toEqual(decision);
    });
  }

  test('a reason is trimmed, and its line ends are line feeds', () => {
    const reason = ' Found\r\nin public.\rTwice. ';
    const form = new Map(Object.entries({ operation: ['reject'], reason: [reason], shown: ['x'] }));
    const { decision } = readDecision(form, 'k7Qm2XaB', clock.nowMs());
    expect([decision.input.reason, parseInput(FIELDS.reason, reason)]).toEqual(
      Array(2).fill('Found\nin public.\nTwice.'),
    );
  });
});
