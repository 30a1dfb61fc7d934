/** Matches a control character (Unicode Cc: C0, DEL and C1), including line feeds. */
export const CONTROL = /\p{Cc}/u;

/** Matches a control character other than a line feed. */
export const CONTROL_BUT_LINE_FEED = /(?!\n)\p{Cc}/u;

/** Matches a visible character. Unicode classifies the Braille blank as a symbol, but it is invisible. */
export const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{Cf}\p{Z}\u2800]/u;

// Most texts match this and need no cleaning.
const PRINTABLE_ASCII = /^[ -~]*$/;

/** Normalises a string for storage: CRLF and CR become LF, and white space at its ends is removed. */
export function normaliseText(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n').trim();
}

/** Counts the code points of a string; unpaired surrogates count, too. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/**
 * Makes a string of unknown origin safe for terminals: removes control and bidirectional characters, and replaces unpaired
 * surrogates. With `lines`, line feeds stay; otherwise they become spaces.
 */
export function cleanForTerminal(text: string, lines = false): string {
  if (PRINTABLE_ASCII.test(text)) return text;
  const unsafe = lines ? /(?!\n)\p{Cc}|\p{Bidi_Control}/gu : /\p{Cc}|\p{Bidi_Control}/gu;
  return text
    .toWellFormed()
    .replace(lines ? unsafe : /\n/g, lines ? '' : ' ')
    .replace(unsafe, '');
}

/** Characters that terminals interpret, but JSON.stringify and SQLite do not escape: DEL, C1 and bidirectional ones. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Bidi_Control}]/gu;

/** Escapes what {@link cleanForTerminal} removes in a JSON text, which keeps its value. */
export function escapeJsonForTerminal(json: string): string {
  // Hardly any string contains one, and a search takes less than half the time of a replacement without a match.
  if (json.search(UNSAFE_IN_JSON) === -1) return json;
  return json.replace(UNSAFE_IN_JSON, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Words as a list: `a, b and c`. */
export function joinWords(words: readonly string[], last: 'and' | 'or'): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}

/** Parses a JSON text; undefined if it is not JSON. The parser's error is dropped, because it repeats the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Quotes a word of a command line if a shell would otherwise interpret it. */
export function shellWord(word: string): string {
  return /^[\w.,/:@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Formats a whole number with narrow spaces between thousands: `49 573`. */
export function numberText(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** Formats a count with a noun that has a regular plural: `1 request`, `5 000 requests`. */
export function countText(count: number, noun: string): string {
  return `${numberText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Formats a number of bytes: `12.3 MiB`. */
export function bytesText(bytes: number): string {
  let size = bytes;
  for (const unit of ['bytes', 'KiB', 'MiB']) {
    if (size < 1024) return `${unit === 'bytes' ? size : size.toFixed(1)} ${unit}`;
    size /= 1024;
  }
  return `${size.toFixed(1)} GiB`;
}
