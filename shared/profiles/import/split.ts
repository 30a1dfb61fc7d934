import { MAX_LINE_BYTES } from '../edit/line.ts';

/**
 * A line of a file: its number from 1, and either its text, or a fault and its bytes, null if there are too many. Blank
 * lines are counted and skipped.
 */
export type SplitLine =
  | { number: number; text: string; bytes: number }
  | { number: number; fault: string; raw: Uint8Array | null };

/** Splits chunks of bytes into lines. Between chunks it holds at most one line. */
export type LineSplitter = {
  /** Returns the lines that end in this chunk. */
  push: (chunk: Uint8Array) => SplitLine[];
  /** Returns the last line, if the file doesn't end with a line end. */
  end: () => SplitLine[];
  /** The number of blank lines so far, and whether the last line ended with a line feed. */
  state: () => { blank: number; isLastEnded: boolean };
};

const LF = 0x0a;
const CR = 0x0d;
const LINE_END = Uint8Array.of(LF);
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const TOO_LONG = 'the line is longer than 1 MiB';
// The limit allows for a two-byte line end and a byte order mark.
const MAX_HELD_BYTES = MAX_LINE_BYTES + 1 + BYTE_ORDER_MARK.length;

/**
 * Parses strict UTF-8 with LF or CRLF line endings and an optional byte order mark. `onLong` receives the bytes of lines
 * that are too long to be held in memory, piece by piece, each such line with a final line feed.
 */
export function createLineSplitter(onLong: (piece: Uint8Array) => void = () => {}): LineSplitter {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let number = 0;
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let tooLong = false;
  let blank = 0;
  let isLastEnded = true;

  const finish = (tail: Uint8Array, lines: SplitLine[]): void => {
    number++;
    if (tooLong) for (const piece of [tail, LINE_END]) onLong(piece);
    const bytes = heldBytes === 0 ? tail : Buffer.concat([...held, tail]);
    const line = tooLong ? { number, fault: TOO_LONG, raw: null } : readLine(decoder, number, bytes);
    held = [];
    heldBytes = 0;
    tooLong = false;
    if (line === null) blank++;
    else lines.push(line);
  };

  const hold = (rest: Uint8Array): void => {
    tooLong ||= heldBytes + rest.length > MAX_HELD_BYTES;
    heldBytes = tooLong ? 0 : heldBytes + rest.length;
    // Copied, so that the caller can reuse its chunk.
    if (!tooLong) held.push(Uint8Array.from(rest));
    else {
      // A line that is too long is read to its end, but not held.
      for (const piece of [...held, rest]) onLong(piece);
      held = [];
    }
  };

  return {
    push: (chunk) => {
      const lines: SplitLine[] = [];
      let from = 0;
      for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
        finish(chunk.subarray(from, at), lines);
        from = at + 1;
      }
      if (from < chunk.length) hold(chunk.subarray(from));
      return lines;
    },
    end: () => {
      const lines: SplitLine[] = [];
      isLastEnded = heldBytes === 0 && !tooLong;
      if (!isLastEnded) finish(new Uint8Array(0), lines);
      return lines;
    },
    state: () => ({ blank, isLastEnded }),
  };
}

function readLine(decoder: TextDecoder, number: number, raw: Uint8Array): SplitLine | null {
  const marked = number === 1 && BYTE_ORDER_MARK.every((byte, index) => raw[index] === byte);
  const bytes = raw.subarray(marked ? BYTE_ORDER_MARK.length : 0, raw.at(-1) === CR ? -1 : undefined);
  if (bytes.length > MAX_LINE_BYTES) return { number, fault: TOO_LONG, raw: Uint8Array.from(bytes) };
  try {
    const text = decoder.decode(bytes);
    return text.trim() === '' ? null : { number, text, bytes: bytes.length };
  } catch {
    return { number, fault: 'the line is not valid UTF-8', raw: Uint8Array.from(bytes) };
  }
}
