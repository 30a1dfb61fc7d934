import type { Sqlite } from '../../db/connect.ts';
import { prepareShownSize } from '../lookup/public-size.ts';
import { createProfileReader, type StoredName } from '../record.ts';
import { MAX_LINE_BYTES } from './line.ts';
import { type Refusal, wholeLine } from './refusal.ts';

/** Checks the size of profiles, prepared once for many lines. */
export type SizeCheck = {
  readonly reader: ReturnType<typeof createProfileReader>;
  /** The size of the profile with this id in a lookup's response, in bytes. */
  readonly shownSizeOf: (id: number) => number;
};

/** The maximum size of a profile with its links in responses. */
const MAX_SHOWN_BYTES = 64 * 1_024;

/** The maximum factor by which a line grows when all its fields and numbers are written out. */
const MAX_GROWTH = 8;

/** A replacing line of at most this many bytes can't make a profile too large. */
export const HARMLESS_BYTES = MAX_SHOWN_BYTES / MAX_GROWTH;

/** Prepares the check. */
export function createSizeCheck(sqlite: Sqlite): SizeCheck {
  return { reader: createProfileReader(sqlite), shownSizeOf: prepareShownSize(sqlite) };
}

/**
 * Why the profile of an applied line is too large to be exported or shown; null if it is not. `names` are the profile's
 * stored and pending names, the username first.
 */
export function sizeFault(
  { reader, shownSizeOf }: SizeCheck,
  id: number,
  names: readonly StoredName[],
): Refusal | null {
  const text = reader.line(id, names.slice(1));
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_LINE_BYTES) return wholeLine('the profile would need a line of more than 1 MiB when exported');
  // The line contains all public fields, so if it is small enough, they are too.
  if (bytes <= MAX_SHOWN_BYTES) return null;
  const shownBytes = shownSizeOf(id);
  if (shownBytes <= MAX_SHOWN_BYTES) return null;
  return wholeLine(
    `the profile and its links would need ${Math.ceil(shownBytes / 1024)} KiB when shown, and 64 KiB are allowed`,
    'the profile and its links would need more than 64 KiB when shown',
  );
}
