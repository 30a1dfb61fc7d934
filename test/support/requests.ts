import type { Permission } from '../../shared/db/schema.ts';
import type { Deps } from '../../shared/deps.ts';
import { parseRateLimit } from '../../shared/limits/rate-limit.ts';
import { SUBJECT } from '../server/routes.ts';
import { issue } from './keys.ts';
import { insertProfile } from './profiles.ts';

/** Inserts the subject, and a key with both permissions and ample limits; returns its secret. */
export async function prepare(deps: Deps): Promise<string> {
  insertProfile(deps.db, { ...SUBJECT, aliases: ['lovelace'] });
  return (await keyFor(deps, ['1000000/1s'])).secret;
}

let holders = 1_000_000;

/** Issues a key of a new profile with these rate limits and, by default, both permissions. */
export async function keyFor(
  deps: Deps,
  rateLimits: readonly string[],
  permissions: readonly Permission[] = ['api.lookup', 'api.leaderboard'],
) {
  const id = insertProfile(deps.db, { id: ++holders, banned: false });
  const limits = rateLimits.map(parseRateLimit);
  return issue(deps, { profile: `user${id}`, permissions }, { rateLimits: limits });
}
