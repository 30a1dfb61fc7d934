/** Control characters (Unicode Cc: C0, DEL and C1), line feeds among them. */
export const CONTROL = /\p{Cc}/u;

/** Control characters but the line feed. */
export const CONTROL_BUT_LINE_FEED = /(?!\n)\p{Cc}/u;

// Most texts: there is nothing to clean.
const PRINTABLE_ASCII = /^[ -~]*$/;

/** The number of code points; an unpaired surrogate counts as one. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/**
 * A text of unknown origin made safe for a terminal: control and bidirectional characters are dropped, unpaired
 * surrogates replaced. Line feeds stay only where `lines` says so.
 */
export function cleanForTerminal(text: string, lines = false): string {
  if (PRINTABLE_ASCII.test(text)) return text;
  const unsafe = lines ? /(?!\n)\p{Cc}|\p{Bidi_Control}/gu : /\p{Cc}|\p{Bidi_Control}/gu;
  return text
    .toWellFormed()
    .replace(lines ? unsafe : /\n/g, lines ? '' : ' ')
    .replace(unsafe, '');
}

/** What JSON.stringify and SQLite leave in a JSON text as it is, though a terminal obeys it: DEL, C1, bidirectional marks. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Bidi_Control}]/gu;

/** A JSON text of the same value, safe for a terminal: all that {@link cleanForTerminal} drops is escaped. */
export function escapeJsonForTerminal(json: string): string {
  return json.replace(UNSAFE_IN_JSON, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
