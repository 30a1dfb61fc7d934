import { expect, test } from 'bun:test';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { countOlder } from '../../../shared/keys/list.ts';
import { request } from '../../support/keys.ts';
import { ownerWorld } from '../../support/pages.ts';
import { importLines } from '../../support/profiles.ts';
import { onBox } from '../../support/world.ts';

/** A database with enough profiles for this many requests. */
async function world(profiles: number) {
  const { access, clock } = await ownerWorld();
  const lines = Array.from({ length: profiles }, (_, n) => ({ id: 100 + n, username: `p${n}`, email: `p${n}@x.org` }));
  await importLines(access, lines);
  return { access, clock };
}

test('only older requests that are still pending are counted as ahead', async () => {
  const { access, clock } = await world(4);
  const identifiers: string[] = [];
  for (let n = 0; n < 4; n++) {
    identifiers.push(await request(access, { profile: `p${n}` }));
    clock.advance(1_000);
  }
  const counts = () => identifiers.map((identifier) => countOlder(access, identifier));
  expect(counts()).toEqual([0, 1, 2, 3]);
  moveAndNotify(access, 'reject', { identifier: identifiers[1] as string, reason: 'No.', by: onBox('root') });
  expect([countOlder(access, identifiers[2] as string), countOlder(access, identifiers[3] as string)]).toEqual([1, 2]);
});
