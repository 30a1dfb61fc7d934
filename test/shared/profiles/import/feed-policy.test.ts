import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../../shared/clock.ts';
import { ERASURES_PER_DAY, policyOf } from '../../../../shared/profiles/import/feed-policy.ts';
import { addBackend } from '../../../support/people.ts';
import { exportText, importLines } from '../../../support/profiles.ts';
import { testClock, testDeps } from '../../../support/world.ts';

const ADA = { id: 7, username: 'ada', email: 'ada@example.org', authId: 'auth0|ada', banned: true };

async function world(excludesContactFields: boolean) {
  const clock = testClock();
  const deps = testDeps({ clock });
  const token = { name: 'backend', excludesContactFields, identifier: addBackend(deps).identifier };
  await importLines(deps, [ADA, { id: 8, username: 'bea' }, { id: 9, username: 'cea' }]);
  const send = async (lines: object[], options: { merge?: boolean; strict?: boolean } = {}) => {
    const { merge = false, strict = true } = options;
    const { deleted, refused } = await importLines(deps, lines, { merge, strict, policy: policyOf(token) });
    return { deleted, refused: refused.map(({ line, field }) => `${line} ${field}`) };
  };
  const stored = async () => Bun.JSONL.parse(await exportText(deps)) as { id: number }[];
  return { clock, deps, send, stored };
}

const { email, authId, banned } = ADA;

for (const merge of [false, true]) {
  for (const strict of [false, true]) {
    test(`a token without addresses can’t change email, authId or banned; if they are absent they stay (merge ${merge}, strict ${strict})`, async () => {
      const { send, stored } = await world(true);
      const how = { merge, strict };
      expect(await send([{ id: 7, username: 'ada', displayName: 'Ada L' }, ADA], how)).toMatchObject({ refused: [] });
      const changes = { email: ['eve@example.org', null], authId: ['auth0|eve', null], banned: [false] };
      for (const [field, values] of Object.entries(changes)) {
        for (const value of values) {
          const { refused } = await send([{ id: 7, username: 'ada', [field]: value }], how);
          expect([field, refused]).toEqual([field, [`1 ${field}`]]);
        }
      }
      expect(await send([{ ...ADA, email: 'ADA@example.org' }], how)).toMatchObject({ refused: [] });
      expect((await stored())[0]).toMatchObject({ email, authId, banned });
      const fresh = { id: 10, username: 'dea' };
      expect(await send([fresh, { ...fresh, email: 'eve@example.org' }], how)).toMatchObject({ refused: ['2 email'] });
      expect(await send([{ ...fresh, banned: true }], how)).toMatchObject({ refused: ['1 banned'] });
      expect(await send([{ ...fresh, banned: false }], how)).toMatchObject({ refused: [] });
      expect(await send([fresh], how)).toMatchObject({ refused: [] });
      expect((await stored()).at(-1)).toMatchObject({ id: 10, email: null, authId: null, banned: false });
      // Erasing a profile and sending it again does not set an address either.
      const again = [
        { id: 8, deleted: true },
        { id: 8, username: 'bea', email: 'eve@example.org' },
      ];
      expect(await send(again, how)).toMatchObject({ refused: ['2 email'] });
      await send([{ id: 8, deleted: true }], how);
      expect(await send([again[1] as object], how)).toMatchObject({ refused: ['1 email'] });
    });

    test(`a token without addresses can’t lift a ban by erasing the profile and sending it again (merge ${merge}, strict ${strict})`, async () => {
      const { send, stored } = await world(true);
      const how = { merge, strict };
      const erase = { id: 7, deleted: true };
      expect(await send([erase, { id: 7, username: 'ada' }], how)).toEqual({ deleted: 0, refused: ['1 deleted'] });
      expect(await send([erase], how)).toEqual({ deleted: 0, refused: ['1 deleted'] });
      expect((await stored())[0]).toMatchObject(ADA);
      expect(await send([{ id: 8, deleted: true }], how)).toEqual({ deleted: 1, refused: [] });
    });
  }
}

test('a token that may set e-mail addresses can erase banned profiles', async () => {
  const { send } = await world(false);
  expect(await send([{ id: 7, deleted: true }])).toEqual({ deleted: 1, refused: [] });
});

test('a token has a daily limit of erasures; missing profiles and rolled-back erasures do not count', async () => {
  const { clock, deps, send, stored } = await world(false);
  const erase = (ids: number[], options = {}) =>
    send(
      ids.map((id) => ({ id, deleted: true })),
      options,
    );
  expect(await erase([8, 99])).toEqual({ deleted: 1, refused: [] });
  await importLines(deps, [{ id: 8, username: 'bea' }]);
  deps.db.$client.run('UPDATE backend_tokens SET erased = ?', [ERASURES_PER_DAY - 2]);
  expect(await erase([7, 8, 9])).toEqual({ deleted: 0, refused: ['3 deleted'] });
  expect(await erase([7, 7, 99])).toEqual({ deleted: 1, refused: [] });
  expect(await erase([8, 9], { strict: false })).toEqual({ deleted: 1, refused: ['2 deleted'] });
  expect((await stored()).map(({ id }) => id)).toEqual([9]);
  clock.advance(DAY_MS);
  expect(await erase([9])).toEqual({ deleted: 1, refused: [] });
});
