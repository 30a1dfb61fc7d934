import type { Sqlite } from '../../db/connect.ts';
import { SETTABLE_LIST } from '../field-values.ts';
import { prepareShownSize } from '../lookup/public-size.ts';
import { createProfileReader, type StoredName } from '../record.ts';
import { MAX_LINE_BYTES, type ProfileLine } from './line.ts';
import { type Refusal, wholeLine } from './refusal.ts';

/** What finding profiles that are too large works with, prepared once for many lines. */
export type SizeCheck = {
  readonly reader: ReturnType<typeof createProfileReader>;
  /** How many bytes lookups show of the profile with this id. */
  readonly shownSizeOf: (id: number) => number;
  /** How many of these bytes a profile may have. */
  readonly maxShownBytes: number;
  /** A line of at most this many bytes that replaces a whole profile can't make it too large. */
  readonly harmlessBytes: number;
};

/** A line is larger when all its fields are written out and its numbers in full, but never eight times as large. */
const MAX_GROWTH = 8;

/** Prepares the check for a connection; `maxShownBytes` is the most that lookups may show of a profile. */
export function createSizeCheck(sqlite: Sqlite, maxShownBytes: number): SizeCheck {
  return {
    reader: createProfileReader(sqlite),
    shownSizeOf: prepareShownSize(sqlite),
    maxShownBytes,
    harmlessBytes: Math.min(MAX_LINE_BYTES, maxShownBytes) / MAX_GROWTH,
  };
}

/**
 * Why the profile of a line that was applied is too large to be exported or shown; null where it is not. `names` are the
 * names that the profile has or claims, the username first. `isMerged` tells whether the line changed only some fields.
 */
export function sizeFault(
  { reader, shownSizeOf, maxShownBytes }: SizeCheck,
  line: ProfileLine,
  names: readonly StoredName[],
  isMerged: boolean,
): Refusal | null {
  const { id } = line;
  const text = reader.line(id, names.slice(1));
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_LINE_BYTES) return wholeLine('the profile would take a line of more than 1 MiB when exported');
  // The line holds all that is shown, and more. So where the line is small enough, what is shown is small enough too.
  if (bytes <= maxShownBytes || (isMerged && !mayShowMore(line))) return null;
  const shownBytes = shownSizeOf(id);
  if (shownBytes <= maxShownBytes) return null;
  const [kib, maxKib] = [Math.ceil(shownBytes / 1024), maxShownBytes / 1024];
  return wholeLine(
    `the profile and its links would take ${kib} KiB as they are shown, and MAX_PROFILE_KIB allows ${maxKib}`,
    `the profile and its links would take more than the ${maxKib} KiB that MAX_PROFILE_KIB allows`,
  );
}

/** The public fields that can be of any length; the lengths of all others are bounded. */
const LONG_FIELDS = SETTABLE_LIST.filter(({ isPublic, form }) => isPublic && (form === 'text' || form === 'json'));

/**
 * Whether a merged line may make lookups show more of its profile. Without this question, a profile that is too large
 * already could be neither banned nor renamed.
 */
function mayShowMore({ columns, links }: ProfileLine): boolean {
  return links !== undefined || LONG_FIELDS.some(({ name }) => columns[name] !== undefined);
}
