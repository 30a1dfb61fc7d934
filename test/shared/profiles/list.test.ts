import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { countProfiles, listProfiles, type ProfileFilter } from '../../../shared/profiles/list.ts';
import { foldName } from '../../../shared/profiles/name.ts';
import { issue, request } from '../../support/keys.ts';
import { changeByHand, insertProfile } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { testClock, testDeps } from '../../support/world.ts';

/** The properties of the profiles in the test. */
type Known = { id: number; names: string[]; banned: boolean; email: boolean; keys: boolean };

const PROFILES: Known[] = [
  { id: 1, names: ['Ada', 'lovelace'], banned: false, email: true, keys: true },
  { id: 3, names: ['ADAM'], banned: true, email: true, keys: true },
  { id: 4, names: ['bob', 'Adele'], banned: false, email: false, keys: false },
  { id: 8, names: ['ad\u{10FFFD}x'], banned: true, email: false, keys: false },
  { id: 9, names: ['Ünal', 'ａda2'], banned: false, email: true, keys: false },
];

async function world() {
  const clock = testClock();
  const deps = testDeps({ clock });
  for (const { id, names, banned, email, keys } of PROFILES) {
    const [username = '', ...aliases] = names;
    insertProfile(deps.db, { id, username, aliases, ...(!email && { email: null }) });
    if (keys && id === 1) await request(deps, { profile: username });
    if (keys && id === 3) await issue(deps, { profile: username });
    if (id === 9) await issue(deps, { profile: username }, { expiresAtMs: clock.nowMs() + 1 });
    if (banned) changeByHand(deps, username, { banned: true });
  }
  clock.advance(1);
  return deps;
}

function matches(profile: Known, filter: ProfileFilter): boolean {
  const { nameBegins, isBanned, lacksEmail, hasKeys } = filter;
  return (
    (nameBegins === undefined || profile.names.some((name) => foldName(name).startsWith(foldName(nameBegins)))) &&
    (isBanned === undefined || profile.banned === isBanned) &&
    (!lacksEmail || !profile.email) &&
    (!hasKeys || profile.keys)
  );
}

test('any combination of filters finds and counts the right profiles, and pages continue without gaps', async () => {
  const deps = await world();
  const filters = fc.record(
    {
      nameBegins: fc.constantFrom('', 'a', 'AD', 'ada', 'lov', 'ü', 'b', '_', '%', 'ad\u{10FFFD}'),
      isBanned: fc.boolean(),
      lacksEmail: fc.boolean(),
      hasKeys: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(filters, fc.integer({ min: 1, max: 6 }), (filter, limit) => {
      const wanted = PROFILES.filter((profile) => matches(profile, filter)).map(({ id }) => id);
      const nowMs = deps.clock.nowMs();
      const found: number[] = [];
      for (let after: number | null = 0; after !== null; ) {
        const part = listProfiles(deps.db, { filter, after, limit, nowMs });
        expect(part.profiles.length).toBeLessThanOrEqual(limit);
        found.push(...part.profiles.map(({ id }) => id));
        after = part.next;
      }
      expect(found).toEqual(wanted);
      expect(countProfiles(deps.db, filter, nowMs)).toBe(wanted.length);
    }),
    { numRuns: rounds(75) },
  );
});

test('a list shows only public fields', async () => {
  const deps = await world();
  const { profiles } = listProfiles(deps.db, { filter: {}, after: 0, limit: 2, nowMs: deps.clock.nowMs() });
  const times = { createdAt: '2024-05-01T00:00:00.000Z', viewsCount: 0 };
  expect(profiles).toEqual([
    { ...times, id: 1, username: 'Ada', displayName: 'Ada', banned: false },
    { ...times, id: 3, username: 'ADAM', displayName: 'ADAM', banned: true },
  ]);
});
