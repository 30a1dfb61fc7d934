import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ListPart, listProfiles } from '../../../shared/profiles/list.ts';
import { foldName } from '../../../shared/profiles/name.ts';
import { changeByHand, insertProfile } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { testDeps } from '../../support/world.ts';

/** The properties of the profiles in the test. */
type Known = { id: number; names: string[]; banned: boolean };

const PROFILES: Known[] = [
  { id: 1, names: ['Ada', 'lovelace'], banned: false },
  { id: 3, names: ['ADAM'], banned: true },
  { id: 4, names: ['bob', 'Adele'], banned: false },
  { id: 8, names: ['ad\u{10FFFD}x'], banned: true },
  { id: 9, names: ['Ünal', 'ａda2'], banned: false },
];

const deps = testDeps();
for (const { id, names, banned } of PROFILES) {
  const [username = '', ...aliases] = names;
  insertProfile(deps.db, { id, username, aliases });
  if (banned) changeByHand(deps, username, { banned: true });
}

function matches({ names, banned }: Known, { nameBegins, isBanned }: Partial<ListPart>): boolean {
  const begins = (name: string) => foldName(name).startsWith(foldName(nameBegins ?? ''));
  return names.some(begins) && (isBanned === undefined || banned === isBanned);
}

test('any combination of filters finds the right profiles, and pages continue without gaps', () => {
  const filters = fc.record(
    {
      nameBegins: fc.constantFrom('', 'a', 'AD', 'ada', 'lov', 'ü', 'b', '_', '%', 'ad\u{10FFFD}'),
      isBanned: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(filters, fc.integer({ min: 1, max: 6 }), (filter, limit) => {
      const found: number[] = [];
      for (let after: number | null = 0; after !== null; ) {
        const part = listProfiles(deps.db, { ...filter, after, limit });
        expect(part.profiles.length).toBeLessThanOrEqual(limit);
        found.push(...part.profiles.map(({ id }) => id));
        after = part.next;
      }
      expect(found).toEqual(PROFILES.filter((profile) => matches(profile, filter)).map(({ id }) => id));
    }),
    { numRuns: rounds(75) },
  );
});

test('a list shows only public fields', () => {
  const { profiles } = listProfiles(deps.db, { after: 0, limit: 2 });
  const times = { createdAt: '2024-05-01T00:00:00.000Z', viewsCount: 0 };
  expect(profiles).toEqual([
    { ...times, id: 1, username: 'Ada', displayName: 'Ada', banned: false },
    { ...times, id: 3, username: 'ADAM', displayName: 'ADAM', banned: true },
  ]);
});
