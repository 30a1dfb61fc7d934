import type { CheckedLine, LineRefused } from './send-lines.ts';

/**
 * Lines that were refused only for a name or auth ID of another profile. They are sent again at the end, because that
 * profile may have given it up by then, or its own line may wait here too: two profiles that swap their names.
 */
export type WaitingLines = {
  /** Keeps a line for the end. False where there is no room for it. */
  add: (line: CheckedLine, refused: LineRefused) => boolean;
  /** A later line for this profile is in: one that waits may not undo that any more, and is refused. */
  overtake: (id: number) => void;
  count: () => number;
  /** The lines that wait, in the order of the file. */
  lines: () => CheckedLine[];
};

/** They must fit into one request, whose answer lists no more than so many refused lines, and are held in memory. */
const MOST = { lines: 10_000, bytes: 32 * 2 ** 20 };

/** `refuse` is told of the lines that are refused for good meanwhile. */
export function createWaitingLines(refuse: (line: CheckedLine, refused: LineRefused) => void): WaitingLines {
  const waiting = new Map<number, { line: CheckedLine; refused: LineRefused }>();
  let bytes = 0;
  const overtake = (id: number): void => {
    const one = waiting.get(id);
    if (one === undefined) return;
    waiting.delete(id);
    bytes -= one.line.bytes;
    refuse(one.line, one.refused);
  };
  return {
    add: (line, refused) => {
      overtake(line.id);
      if (waiting.size >= MOST.lines || bytes + line.bytes > MOST.bytes) return false;
      waiting.set(line.id, { line, refused });
      bytes += line.bytes;
      return true;
    },
    overtake,
    count: () => waiting.size,
    lines: () => Array.from(waiting.values(), ({ line }) => line).sort((a, b) => a.number - b.number),
  };
}
