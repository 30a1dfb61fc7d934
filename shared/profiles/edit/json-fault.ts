// JavaScriptCore's parser does not say where it found a fault, and its message repeats the text. This finds the place.

/** Numbers and words. */
const PLAIN_VALUE = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const SPACE = /[ \t\r\n]*/y;
/** What ends a string, or needs a look. */
const STRING_STOP = /["\\\p{Cc}]/gu;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** What may come next; `value or ]` and `key or }` just after an opening bracket. */
type Wanted = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma or end';

/**
 * The place, from 0, of the first character that can't stand where it does in JSON (RFC 8259); the length of the text
 * where it ends too early, and null where nothing is wrong.
 */
export function jsonFaultAt(text: string): number | null {
  const open: string[] = [];
  let wanted: Wanted = 'value';
  for (let at = endOf(SPACE, text, 0); at < text.length; at = endOf(SPACE, text, at)) {
    const char = text[at] as string;
    const next = afterMark(char, wanted, open);
    if (next !== null) {
      wanted = next;
      at++;
      continue;
    }
    const isKey: boolean = wanted === 'key' || wanted === 'key or }';
    const isWanted = isKey ? char === '"' : wanted.startsWith('value');
    const value = isWanted ? readValue(text, at) : { end: at, isWhole: false };
    if (!value.isWhole) return value.end;
    at = value.end;
    wanted = isKey ? 'colon' : 'comma or end';
  }
  return wanted === 'comma or end' && open.length === 0 ? null : text.length;
}

/** What may follow this bracket, comma or colon; null where it is none, or may not stand here. Keeps `open`. */
function afterMark(char: string, wanted: Wanted, open: string[]): Wanted | null {
  if (wanted.startsWith('value') && (char === '{' || char === '[')) {
    open.push(char);
    return char === '{' ? 'key or }' : 'value or ]';
  }
  if (wanted === 'colon') return char === ':' ? 'value' : null;
  const inside = open.at(-1);
  if (inside === undefined) return null;
  if (wanted === 'comma or end' && char === ',') return inside === '{' ? 'key' : 'value';
  const mayEnd = wanted === 'comma or end' || wanted === (inside === '{' ? 'key or }' : 'value or ]');
  if (!mayEnd || char !== (inside === '{' ? '}' : ']')) return null;
  open.pop();
  return 'comma or end';
}

/** Where the string, number or word that begins here ends; where it is none, the place of the fault. */
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
    // JSON allows the control characters above these.
    from = stop[0] >= '\u007f' ? stop.index + 1 : endOf(ESCAPE, text, stop.index);
    if (from === stop.index) return { end: from, isWhole: false };
  }
}

/** Where what matches here ends; the place itself where nothing does. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
