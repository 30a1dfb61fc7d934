import type { Sqlite } from '../../db/connect.ts';
import { linksBodyOf, PROFILE_BODY } from './public.ts';

/** Prepares measuring: how many bytes of JSON lookups show of a profile, its links included; it must be there. */
export function prepareShownSize(sqlite: Sqlite): (id: number) => number {
  const measure = sqlite.prepare<{ bytes: number }, [number]>(
    `SELECT octet_length(${PROFILE_BODY}) + octet_length(${linksBodyOf('profiles.id')}) AS bytes FROM profiles WHERE id = ?`,
  );
  return (id) => measure.get(id)?.bytes ?? 0;
}

// Lengths are in the headers of the rows, so that long texts are not read. Written as JSON a text takes at most six times
// as many bytes, and the names of the fields take a few hundred; half of it is the profile's, or half the links'.
const MAY_SHOW_MORE = `
  SELECT id FROM profiles WHERE ?1 < 12 * (400 + octet_length(username) + octet_length(display_name) + octet_length(badges)
    + octet_length(assets) + octet_length(customize) + coalesce(octet_length(discord_id), 0) + octet_length(discord_clean))
  UNION SELECT profile_id FROM links GROUP BY profile_id
    HAVING ?1 < 12 * sum(120 + octet_length(id) + octet_length(name) + octet_length(link) + coalesce(octet_length(title), 0)
      + coalesce(octet_length(image), 0) + coalesce(octet_length(link_mode), 0))`;

/** How many profiles show more than so many bytes. Reads through all rows: about a second for a million profiles. */
export function countOversized(sqlite: Sqlite, maxBytes: number): number {
  const sizeOf = prepareShownSize(sqlite);
  const candidates = sqlite.prepare<{ id: number }, [number]>(MAY_SHOW_MORE).all(maxBytes);
  return candidates.filter(({ id }) => sizeOf(id) > maxBytes).length;
}
