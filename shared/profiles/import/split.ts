import { MAX_LINE_BYTES } from '../line.ts';

/**
 * A line of a file, or an element of its array: its number from 1, and either its text, or a fault and its bytes, null if
 * there are too many. Blank ones are counted and skipped.
 */
export type SplitLine =
  | { number: number; text: string; bytes: number }
  | { number: number; fault: string; raw: Uint8Array | null };

/** Splits chunks of bytes into lines. Between chunks it holds at most one line. */
type LineSplitter = {
  /** Returns the lines that end in this chunk. */
  push: (chunk: Uint8Array) => SplitLine[];
  /** Returns the last line, if the file doesn't end with a line end. */
  end: () => SplitLine[];
  /** The number of blank lines so far, and whether the last line ended with a line feed, or the array with its bracket. */
  state: () => { blank: number; isLastEnded: boolean };
};

const LF = 0x0a;
const CR = 0x0d;
const LINE_END = Uint8Array.of(LF);
const TOO_LONG = 'the line is longer than 256 KiB';
const CUT_OFF = 'the array does not end with a bracket; the file may be cut off';
/** Bytes that may stand before the first line or the array: of the byte order mark, and white space. */
const LEADING = new Set([0xef, 0xbb, 0xbf, 0x20, 0x09, CR, LF]);

/**
 * Splits strict UTF-8 with LF or CRLF line endings and an optional byte order mark; or, if it begins with a bracket, an
 * array into its elements, unless only lines are accepted. `onLong` receives the bytes of lines that are too long to be held in
 * memory, piece by piece, each such line with a final line feed.
 */
export function createLineSplitter(
  onLong: (piece: Uint8Array) => void = () => {},
  isLinesOnly: boolean = false,
): LineSplitter {
  let lead: Uint8Array[] = [];
  let leadBytes = 0;
  let chosen: LineSplitter | null = null;
  const choose = (first: number | undefined): LineSplitter => {
    chosen = first === BRACKET.open && !isLinesOnly ? splitArray(onLong) : splitLines(onLong);
    return chosen;
  };
  const beginning = () => {
    const bytes = Buffer.concat(lead);
    lead = [];
    return bytes;
  };
  return {
    push: (chunk) => {
      if (chosen !== null) return chosen.push(chunk);
      lead.push(Uint8Array.from(chunk));
      leadBytes += chunk.length;
      const first = chunk.find((byte) => !LEADING.has(byte));
      // After so much white space, only lines are expected.
      return first === undefined && leadBytes <= MAX_LINE_BYTES ? [] : choose(first).push(beginning());
    },
    end: () => {
      const splitter = chosen ?? choose(undefined);
      return [...splitter.push(beginning()), ...splitter.end()];
    },
    state: () => chosen?.state() ?? { blank: 0, isLastEnded: true },
  };
}

function splitLines(onLong: (piece: Uint8Array) => void): LineSplitter {
  const collector = createCollector(onLong);
  let isLastEnded = true;
  return {
    push: (chunk) => {
      const lines: SplitLine[] = [];
      let from = 0;
      for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
        collector.finish(chunk.subarray(from, at), lines);
        from = at + 1;
      }
      if (from < chunk.length) collector.hold(chunk.subarray(from));
      return lines;
    },
    end: () => {
      const lines: SplitLine[] = [];
      isLastEnded = collector.isEmpty();
      if (!isLastEnded) collector.finish(new Uint8Array(0), lines);
      return lines;
    },
    state: () => ({ blank: collector.blank(), isLastEnded }),
  };
}

const BRACKET = { open: 0x5b, close: 0x5d };
const BRACE = { open: 0x7b, close: 0x7d };
const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];

/** Finds only where elements end; whether they are JSON is found when they are parsed. */
function splitArray(onLong: (piece: Uint8Array) => void): LineSplitter {
  const collector = createCollector(onLong);
  let depth = 0;
  let isInString = false;
  let isEscaped = false;
  let isEnded = false;
  let isWhole = false;
  return {
    push: (chunk) => {
      const lines: SplitLine[] = [];
      let from = 0;
      const finish = (at: number) => {
        collector.finish(chunk.subarray(from, at), lines);
        from = at + 1;
      };
      for (let at = 0; at < chunk.length; at++) {
        const byte = chunk[at];
        if (isEscaped) isEscaped = false;
        else if (isInString) {
          if (byte === BACKSLASH) isEscaped = true;
          else if (byte === QUOTE) isInString = false;
        } else if (byte === QUOTE) isInString = true;
        else if (byte === BRACKET.open || byte === BRACE.open) {
          depth++;
          if (depth === 1 && !isEnded) from = at + 1;
        } else if (byte === BRACKET.close || byte === BRACE.close) {
          depth--;
          if (depth !== 0 || isEnded) continue;
          isEnded = true;
          isWhole = byte === BRACKET.close;
          finish(at);
        } else if (byte === COMMA && depth === 1 && !isEnded) finish(at);
      }
      if (from < chunk.length && depth + Number(isEnded) > 0) collector.hold(chunk.subarray(from));
      return lines;
    },
    // What follows the array is refused, as an element that is not JSON, unless it is blank.
    end: () => {
      const lines: SplitLine[] = [];
      if (!collector.isEmpty()) collector.finish(new Uint8Array(0), lines);
      if (!isWhole) collector.refuse(CUT_OFF, lines);
      return lines;
    },
    state: () => ({ blank: 0, isLastEnded: isWhole }),
  };
}

/** Collects the bytes of a line, which may be in several chunks, and makes the line. */
function createCollector(onLong: (piece: Uint8Array) => void) {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let isTooLong = false;
  let blank = 0;
  return {
    isEmpty: () => heldBytes === 0 && !isTooLong,
    blank: () => blank,
    hold: (rest: Uint8Array): void => {
      // One byte more for a two-byte line end, and three for a byte order mark.
      isTooLong ||= heldBytes + rest.length > MAX_LINE_BYTES + 4;
      heldBytes = isTooLong ? 0 : heldBytes + rest.length;
      // Copied, so that the caller can reuse its chunk.
      if (!isTooLong) held.push(Uint8Array.from(rest));
      else {
        // A line that is too long is read to its end, but not held.
        for (const piece of [...held, rest]) onLong(piece);
        held = [];
      }
    },
    finish: (tail: Uint8Array, lines: SplitLine[]): void => {
      number++;
      if (isTooLong) for (const piece of [tail, LINE_END]) onLong(piece);
      const bytes = heldBytes === 0 ? tail : Buffer.concat([...held, tail]);
      const line = isTooLong ? { number, fault: TOO_LONG, raw: null } : readLine(decoder, number, bytes);
      held = [];
      heldBytes = 0;
      isTooLong = false;
      if (line === null) blank++;
      else lines.push(line);
    },
    refuse: (fault: string, lines: SplitLine[]): void => {
      number++;
      lines.push({ number, fault, raw: null });
    },
  };
}

function readLine(decoder: TextDecoder, number: number, raw: Uint8Array): SplitLine | null {
  const bytes = raw.at(-1) === CR ? raw.subarray(0, -1) : raw;
  if (bytes.length > MAX_LINE_BYTES + 3) return { number, fault: TOO_LONG, raw: Uint8Array.from(bytes) };
  try {
    const text = decoder.decode(bytes);
    if (text.trim() === '') return null;
    if (bytes.length > MAX_LINE_BYTES && Buffer.byteLength(text) > MAX_LINE_BYTES) {
      return { number, fault: TOO_LONG, raw: Uint8Array.from(bytes) };
    }
    return { number, text, bytes: bytes.length };
  } catch {
    return { number, fault: 'the line is not valid UTF-8', raw: Uint8Array.from(bytes) };
  }
}
