import { and, between, eq, exists, or, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { profileNames, profiles } from '../db/schema/profiles.ts';
import { foldAddress } from '../mail/address.ts';
import { firstNames } from '../profiles/list.ts';

/**
<<<<<<< HEAD
 * The condition that a key is found by a text: it is the key's identifier, a part of its name, the beginning of the username
 * or of an alias of its profile, or the profile's e-mail address. Each key is looked at, so the time grows with their number
 * and not with that of profiles; 100 000 keys of 50 000 profiles take 0.2 s at most.
=======
 * The condition of a search: the text is the key's identifier, a part of its name, the beginning of the username or an alias of
 * its profile, or the profile's e-mail address. It scans all keys, about a quarter of a second for 100 000, independent of the
 * number of profiles.
>>>>>>> cc1523b (Say what keys, their fields and lists are in plain English)
 */
export function isFoundBy(db: Db, text: string): SQL | undefined {
  const ofProfile = {
    profile: eq(profiles.id, apiKeys.profileId),
    name: eq(profileNames.profileId, apiKeys.profileId),
  };
  const isNamed = db
    .select({ id: profileNames.profileId })
    .from(profileNames)
    .where(and(ofProfile.name, between(profileNames.folded, ...firstNames(text))));
  const hasAddress = db
    .select({ id: profiles.id })
    .from(profiles)
    .where(and(ofProfile.profile, eq(sql`lower(${profiles.email})`, foldAddress(text))));
  return or(
    eq(sql`lower(${apiKeys.identifier})`, text.toLowerCase()),
    sql`instr(lower(${apiKeys.name}), lower(${text})) > 0`,
    exists(isNamed),
    exists(hasAddress),
  );
}
