import { createPortalServices } from '../../../server/portal/services.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import type { Deps } from '../../../shared/deps.ts';
import { insertProfile } from '../profiles.ts';
import { emptyLimits } from '../storage/limits.ts';
import { testClock, testDeps } from '../world.ts';
import { countingCodes } from './access.ts';
import { type PageWorld, signInOwner } from './pages.ts';

/** Two owners; usually the first is signed in. */
export const ADA = { id: 7, username: 'ada', email: 'ada@example.org' };
export const BEA = { id: 8, username: 'bea', email: 'bea@example.org' };

/** Pages on a database with both owners; `cookie` is Ada's session. */
export type OwnerWorld = PageWorld & { cookie: string; lastCode: () => string };

/** Makes pages on a new database with both owners. */
export async function ownerWorld(variables: Record<string, string> = {}): Promise<OwnerWorld> {
  const clock = testClock();
  const codes = countingCodes();
  const access = testDeps({ clock, random: codes.random, variables });
  for (const owner of [ADA, BEA]) insertProfile(access.db, owner);
  const events: PageWorld['events'] = [];
  const services = createPortalServices(
    access,
    (level, message) => void events.push([level, message]),
    emptyLimits(access.clock),
  );
  return { access, clock, services, events, cookie: signInOwner(access, ADA.id), lastCode: codes.lastCode };
}

/** Records uses for each of the last days: `max / (ago + 1)` were answered, half as many exceeded a limit. */
export function useKey({ db, clock }: Deps, identifier: string, days: number, max = 900): void {
  const nowMs = clock.nowMs();
  const today = Math.floor(nowMs / DAY_MS);
  const insert = db.$client.query(
    `INSERT INTO key_usage (identifier, day, ok, not_found, forbidden, malformed, limited, failed, last_used_at)
       VALUES (?, ?, ?, 3, 0, 0, ?, 0, ?)`,
  );
  for (let ago = 0; ago < days; ago++) {
    const ok = Math.round(max / (ago + 1));
    insert.run(identifier, today - ago, ok, Math.round(ok / 2), nowMs - ago * DAY_MS);
  }
}
