import { codePoints } from '../text.ts';

/** The maximum length of a username or an alias in code points, both as written and in folded form. */
export const NAME_MAX_CODE_POINTS = 64;

/** The maximum length of an auth ID in bytes of UTF-8. */
export const AUTH_ID_MAX_BYTES = 255;

// Most names match this. Such a name is valid, and folding it only means lower-casing it.
const PLAIN = /^[A-Za-z0-9_-]{1,64}$/;

// The URL parser replaces bytes that are not UTF-8 with this character, so paths that contain it are refused.
const REPLACEMENT_FAULT = "may not contain U+FFFD, the replacement character, because request paths can't contain it";

const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/\p{Cc}/u, 'may not contain control characters'],
  // Emoji and Persian need the four exceptions.
  [
    /(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u,
    'may not contain invisible or direction-changing characters',
  ],
  [/\ufffd/u, REPLACEMENT_FAULT],
  [/\//u, 'may not contain a slash'],
  [/^\p{White_Space}|\p{White_Space}$/u, 'may not begin or end with white space'],
  [/^\.\.?$/u, 'may not be "." or ".."'],
];

const IGNORED = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * Returns the folded form of a username or alias, in which names are compared: without invisible characters, in Unicode
 * NFKC and lower case, repeated until nothing changes. One pass is not enough: each step can undo another.
 */
export function foldName(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  let folded = text;
  for (;;) {
    const next = folded.replace(IGNORED, '').normalize('NFKC').toLowerCase();
    if (next === folded) return folded;
    folded = next;
  }
}

/**
 * Checks a username or an alias, both as written and in folded form. Returns null, or the problem as the end of a
 * sentence that begins with the field's name: `may not contain a slash`.
 */
export function nameFault(text: string): string | null {
  if (PLAIN.test(text)) return null;
  const fault = spellingFault(text);
  if (fault !== null) return fault;
  const foldedFault = spellingFault(foldName(text));
  return foldedFault === null ? null : `${foldedFault} when normalised (NFKC, lower case)`;
}

/** Returns the folded form of a name, or null if the text is not a valid name, so that no profile can have it. */
export function checkedFold(name: string): string | null {
  if (PLAIN.test(name)) return name.toLowerCase();
  return nameFault(name) === null ? foldName(name) : null;
}

/**
 * Checks an auth ID: 1 to 255 bytes of well-formed Unicode without NUL and U+FFFD. Returns null, or the problem in
 * the form of {@link nameFault}.
 */
export function authIdFault(text: string): string | null {
  if (!text.isWellFormed() || text.includes('\0')) return 'may not contain unpaired surrogates or NUL';
  if (text.includes('\ufffd')) return REPLACEMENT_FAULT;
  // Each UTF-16 unit takes at least one byte, so texts with too many units need not be encoded to count bytes.
  const bytes = text.length > AUTH_ID_MAX_BYTES ? text.length : Buffer.byteLength(text);
  return bytes >= 1 && bytes <= AUTH_ID_MAX_BYTES ? null : `must have 1 to ${AUTH_ID_MAX_BYTES} bytes`;
}

function spellingFault(text: string): string | null {
  if (!text.isWellFormed()) return 'may not contain unpaired surrogates';
  // A string with this many UTF-16 units is too long, so its code points need not be counted.
  const length = text.length > 2 * NAME_MAX_CODE_POINTS ? text.length : codePoints(text);
  if (length < 1 || length > NAME_MAX_CODE_POINTS) return `must have 1 to ${NAME_MAX_CODE_POINTS} characters`;
  return FORBIDDEN.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}
