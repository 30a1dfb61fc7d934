import { and, eq, sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connect.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { AppError } from '../errors.ts';

/**
 * The refusal of an identifier that no key has, or whose key the person may not see. `alike` are those that they may see and
 * that differ only in letter case.
 */
export function noSuchKey(alike: readonly string[] = []): AppError {
  const unknown = 'There is no key with this identifier';
  if (alike.length === 0) return new AppError('not_found', `${unknown}.`);
  const differ = alike.length === 1 ? 'differs' : 'differ';
  return new AppError('not_found', `${unknown}, but ${alike.join(' and ')} ${differ} from it only in letter case.`);
}

/** The refusal of an identifier that no key has. With `profileId`, it suggests only keys of this profile. */
export function unknownKey(db: Db | Tx, identifier: string, profileId?: number): AppError {
  const alike = db
    .select({ identifier: apiKeys.identifier })
    .from(apiKeys)
    .where(
      and(
        sql`${apiKeys.identifier} = ${identifier} COLLATE NOCASE`,
        profileId === undefined ? undefined : eq(apiKeys.profileId, profileId),
      ),
    )
    .orderBy(apiKeys.identifier)
    .all();
  return noSuchKey(alike.map((key) => key.identifier));
}
