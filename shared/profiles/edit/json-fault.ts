// JavaScriptCore's parser does not report the position of a syntax error, and its message repeats the text, which may
// be private. This finds the position.

/** Matches a number or literal. */
const PLAIN_VALUE = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const SPACE = /[ \t\r\n]*/y;
/** Matches a quote, a backslash or a control character. */
const STRING_STOP = /["\\\p{Cc}]/gu;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** The expected next token; `value or ]` and `key or }` directly after an opening bracket. */
type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma or end';

/**
 * Returns the index of the first character that is not valid JSON (RFC 8259), the length of the text if it ends too
 * early, or null if the text is valid.
 */
export function jsonFaultAt(text: string): number | null {
  const open: string[] = [];
  let expected: Expected = 'value';
  for (let at = endOf(SPACE, text, 0); at < text.length; at = endOf(SPACE, text, at)) {
    const char = text[at] as string;
    const next = afterMark(char, expected, open);
    if (next !== null) {
      expected = next;
      at++;
      continue;
    }
    const isKey: boolean = expected === 'key' || expected === 'key or }';
    const isExpected = isKey ? char === '"' : expected.startsWith('value');
    const value = isExpected ? readValue(text, at) : { end: at, isWhole: false };
    if (!value.isWhole) return value.end;
    at = value.end;
    expected = isKey ? 'colon' : 'comma or end';
  }
  return expected === 'comma or end' && open.length === 0 ? null : text.length;
}

/**
 * The expected token after this bracket, comma or colon, or null if it is none of these or not valid here. Updates
 * `open`.
 */
function afterMark(char: string, expected: Expected, open: string[]): Expected | null {
  if (expected.startsWith('value') && (char === '{' || char === '[')) {
    open.push(char);
    return char === '{' ? 'key or }' : 'value or ]';
  }
  if (expected === 'colon') return char === ':' ? 'value' : null;
  const inside = open.at(-1);
  if (inside === undefined) return null;
  if (expected === 'comma or end' && char === ',') return inside === '{' ? 'key' : 'value';
  const mayEnd = expected === 'comma or end' || expected === (inside === '{' ? 'key or }' : 'value or ]');
  if (!mayEnd || char !== (inside === '{' ? '}' : ']')) return null;
  open.pop();
  return 'comma or end';
}

/** The end of the string, number or literal that starts at `at`; if it is invalid, the index of the error. */
function readValue(text: string, at: number): { end: number; isWhole: boolean } {
  if (text[at] !== '"') {
    const end = endOf(PLAIN_VALUE, text, at);
    return { end, isWhole: end > at };
  }
  for (let from = at + 1; ; ) {
    STRING_STOP.lastIndex = from;
    const stop = STRING_STOP.exec(text);
    if (stop === null) return { end: text.length, isWhole: false };
    if (stop[0] === '"') return { end: stop.index + 1, isWhole: true };
    // JSON allows the control characters from U+007F.
    from = stop[0] >= '\u007f' ? stop.index + 1 : endOf(ESCAPE, text, stop.index);
    if (from === stop.index) return { end: from, isWhole: false };
  }
}

function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
