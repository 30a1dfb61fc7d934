import { codePoints } from '../text.ts';

/** The most code points a username or an alias has, as spelled and as folded. */
export const NAME_MAX_CODE_POINTS = 64;

/** The most bytes of UTF-8 an auth ID has. */
export const AUTH_ID_MAX_BYTES = 255;

// Most names: no other rule can touch them, and folding is lower-casing.
const PLAIN = /^[A-Za-z0-9_-]{1,64}$/;

const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/\p{Cc}/u, 'may not hold control characters'],
  [/[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u, 'may not hold invisible or direction-changing characters'],
  [/\//u, 'may not hold a slash'],
  [/^\p{White_Space}|\p{White_Space}$/u, 'may not begin or end with white space'],
  [/^\.\.?$/u, 'may not be "." or ".."'],
];

/**
 * The form in which usernames and aliases are compared: Unicode NFKC and lower-casing, repeated until nothing changes
 * (one pass is not enough: lower-casing can undo normalisation, and the other way round).
 */
export function foldName(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  let folded = text;
  for (;;) {
    const next = folded.normalize('NFKC').toLowerCase();
    if (next === folded) return folded;
    folded = next;
  }
}

/**
 * What keeps a text from being a username or an alias, or null where nothing does. The rule holds for the name as spelled
 * and as folded; the answer reads on after the field's name: `may not hold a slash`.
 */
export function nameFault(text: string): string | null {
  if (PLAIN.test(text)) return null;
  const fault = spellingFault(text);
  if (fault !== null) return fault;
  const foldedFault = spellingFault(foldName(text));
  return foldedFault === null ? null : `${foldedFault}, not even once it is normalised (NFKC, lower case)`;
}

/** The folded form of a name that could exist, or null: no profile can be found by a text that is no name. */
export function checkedFold(name: string): string | null {
  if (PLAIN.test(name)) return name.toLowerCase();
  return nameFault(name) === null ? foldName(name) : null;
}

/** What keeps a text from being an auth ID (1 to 255 bytes of well-formed Unicode without NUL), or null. */
export function authIdFault(text: string): string | null {
  if (!text.isWellFormed() || text.includes('\0')) return 'may not hold unpaired surrogates or NUL';
  // Each UTF-16 unit takes at least a byte, so a long text needs no encoding.
  const bytes = text.length > AUTH_ID_MAX_BYTES ? text.length : Buffer.byteLength(text);
  return bytes >= 1 && bytes <= AUTH_ID_MAX_BYTES ? null : `must have 1 to ${AUTH_ID_MAX_BYTES} bytes`;
}

function spellingFault(text: string): string | null {
  if (!text.isWellFormed()) return 'may not hold unpaired surrogates';
  // Longer than any name could be: not worth counting.
  const length = text.length > 2 * NAME_MAX_CODE_POINTS ? text.length : codePoints(text);
  if (length < 1 || length > NAME_MAX_CODE_POINTS) return `must have 1 to ${NAME_MAX_CODE_POINTS} characters`;
  return FORBIDDEN.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}
