import type { Sqlite } from '../../db/connect.ts';
import { linksBodyOf, PROFILE_BODY } from './public.ts';

/**
 * Prepares a function that returns the size in bytes of the JSON that lookups return for an existing profile, including
 * its links.
 */
export function prepareShownSize(sqlite: Sqlite): (id: number) => number {
  const measure = sqlite.prepare<{ bytes: number }, [number]>(
    `SELECT octet_length(${PROFILE_BODY}) + octet_length(${linksBodyOf('profiles.id')}) AS bytes FROM profiles WHERE id = ?`,
  );
  return (id) => measure.get(id)?.bytes ?? 0;
}
