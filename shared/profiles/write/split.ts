import { MAX_LINE_BYTES } from './line.ts';

/** A line of a file: its number from 1, and its text, or what is wrong with it. Blank lines are counted and left out. */
export type SplitLine = { number: number; text: string; bytes: number } | { number: number; fault: string };

/** Cuts chunks of bytes into lines; holds at most one line's worth of bytes between them. */
export type LineSplitter = {
  /** The lines that end in this chunk. */
  push: (chunk: Uint8Array) => SplitLine[];
  /** The last line, where the file doesn't end in a line end. */
  end: () => SplitLine[];
};

const LF = 0x0a;
const CR = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const TOO_LONG = 'the line has more than 1 MiB';
// A line end of two bytes, and the mark that may begin a file.
const MAX_HELD_BYTES = MAX_LINE_BYTES + 1 + BYTE_ORDER_MARK.length;

/** Strict UTF-8; lines end in LF or CRLF; a byte order mark may begin the file. */
export function createLineSplitter(): LineSplitter {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let number = 0;
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let tooLong = false;

  const finish = (tail: Uint8Array, lines: SplitLine[]): void => {
    number++;
    const bytes = heldBytes === 0 ? tail : Buffer.concat([...held, tail]);
    const line = tooLong ? { number, fault: TOO_LONG } : readLine(decoder, number, bytes);
    held = [];
    heldBytes = 0;
    tooLong = false;
    if (line !== null) lines.push(line);
  };

  const hold = (rest: Uint8Array): void => {
    tooLong ||= heldBytes + rest.length > MAX_HELD_BYTES;
    heldBytes = tooLong ? 0 : heldBytes + rest.length;
    // What is too long is read on to its end, but not kept.
    if (tooLong) held = [];
    // The copy lets the caller use its chunk again.
    else held.push(Uint8Array.from(rest));
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
      if (heldBytes > 0 || tooLong) finish(new Uint8Array(0), lines);
      return lines;
    },
  };
}

function readLine(decoder: TextDecoder, number: number, raw: Uint8Array): SplitLine | null {
  const marked = number === 1 && BYTE_ORDER_MARK.every((byte, index) => raw[index] === byte);
  const bytes = raw.subarray(marked ? BYTE_ORDER_MARK.length : 0, raw.at(-1) === CR ? -1 : undefined);
  if (bytes.length > MAX_LINE_BYTES) return { number, fault: TOO_LONG };
  try {
    const text = decoder.decode(bytes);
    return text.trim() === '' ? null : { number, text, bytes: bytes.length };
  } catch {
    return { number, fault: 'the line is not valid UTF-8' };
  }
}
