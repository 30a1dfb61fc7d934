import { or, type SQL, sql } from 'drizzle-orm';
import type { Tx } from '../db/connect.ts';
import { apiKeys } from '../db/schema.ts';
import { foldAddress } from '../mail/address.ts';

/** What the keys of a profile are found by, each text on a line of its own. */
type Searched = { identifier: string; email: string | null; texts: string };

/**
 * Stores what admins find the keys of a profile by, because SQLite can't ignore accents, and reading ten thousand profiles would
 * take a page 60 ms. Call it in every transaction that requests or renames a key, or changes names or address of its profile.
 */
export function storeSearchTexts(tx: Tx, profileId: number): void {
  const rows = tx.$client
    .query<Searched, [number]>(
      `SELECT identifier, email, concat_ws(char(10), identifier, api_keys.name, profile ->> 'displayName',
         (SELECT group_concat(name, char(10)) FROM profile_names WHERE profile_id = profiles.id)) AS texts
       FROM api_keys JOIN profiles ON profiles.id = profile_id WHERE profile_id = ?`,
    )
    .all(profileId);
  const store = tx.$client.query('UPDATE api_keys SET searched = ?, searched_address = ? WHERE identifier = ?');
  for (const { identifier, email, texts } of rows) {
    store.run(withoutAccents(texts), email === null ? null : foldAddress(email), identifier);
  }
}

/**
 * The condition that a key is found by a text: a part of its identifier, of its name, or of a username, an alias or the display
 * name of its profile, whatever the case and accents, or the profile's whole e-mail address.
 */
export function isFoundBy(text: string): SQL | undefined {
  return or(
    sql`instr(${apiKeys.searched}, ${withoutAccents(text)}) > 0`,
    sql`${apiKeys.searchedAddress} = ${foldAddress(text)}`,
  );
}

function withoutAccents(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}
