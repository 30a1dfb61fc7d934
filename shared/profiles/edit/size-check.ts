import type { Sqlite } from '../../db/connect.ts';
import { SETTABLE_LIST } from '../field-values.ts';
import { prepareShownSize } from '../lookup/public-size.ts';
import { createProfileReader, type StoredName } from '../record.ts';
import { MAX_LINE_BYTES, type ProfileLine } from './line.ts';
import { type Refusal, wholeLine } from './refusal.ts';

/** Checks the size of profiles, prepared once for many lines. */
export type SizeCheck = {
  readonly reader: ReturnType<typeof createProfileReader>;
  /** The size of the profile with this id in a lookup's response, in bytes. */
  readonly shownSizeOf: (id: number) => number;
  readonly maxShownBytes: number;
  /** A replacing line of at most this many bytes can't make a profile too large. */
  readonly harmlessBytes: number;
};

/** The maximum factor by which a line grows when all its fields and numbers are written out. */
const MAX_GROWTH = 8;

/** Prepares the check; `maxShownBytes` is the maximum size of a profile in a lookup's response. */
export function createSizeCheck(sqlite: Sqlite, maxShownBytes: number): SizeCheck {
  return {
    reader: createProfileReader(sqlite),
    shownSizeOf: prepareShownSize(sqlite),
    maxShownBytes,
    harmlessBytes: Math.min(MAX_LINE_BYTES, maxShownBytes) / MAX_GROWTH,
  };
}

/**
 * Why the profile of an applied line is too large to be exported or shown; null if it is not. `names` are the profile's
 * stored and pending names, the username first. `isMerged` is whether the line changed only some fields.
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
  if (bytes > MAX_LINE_BYTES) return wholeLine('the profile would need a line of more than 1 MiB when exported');
  // The line contains all public fields, so if it is small enough, they are too.
  if (bytes <= maxShownBytes || (isMerged && !mayShowMore(line))) return null;
  const shownBytes = shownSizeOf(id);
  if (shownBytes <= maxShownBytes) return null;
  const [kib, maxKib] = [Math.ceil(shownBytes / 1024), maxShownBytes / 1024];
  return wholeLine(
    `the profile and its links would need ${kib} KiB when shown, and MAX_PROFILE_KIB allows ${maxKib}`,
    `the profile and its links would need more than the ${maxKib} KiB that MAX_PROFILE_KIB allows`,
  );
}

/** The public fields of unlimited length. */
const LONG_FIELDS = SETTABLE_LIST.filter(({ isPublic, form }) => isPublic && (form === 'text' || form === 'json'));

/**
 * Whether a merging line can enlarge the public part of its profile. Without this check, profiles that are already too
 * large could be neither banned nor renamed.
 */
function mayShowMore({ columns, links }: ProfileLine): boolean {
  return links !== undefined || LONG_FIELDS.some(({ name }) => columns[name] !== undefined);
}
