import { FIELD_LIST } from '../../../shared/profiles/field-values.ts';
import { foldName } from '../../../shared/profiles/name.ts';
import type { CheckedLine } from './send-lines.ts';

/**
 * Lines that were refused only for a name or auth ID of another profile, each with later lines of its profile that are not
 * in yet. They are sent again at the end, because that profile may have given it up by then, or its own line may wait here
 * too: two profiles that swap their names.
 */
export type WaitingLines = {
  /** Keeps a line for the end. False where there is no room for it. */
  add: (line: CheckedLine) => boolean;
  /** Whether a line of this profile waits: later ones may not be sent before it. */
  has: (id: number) => boolean;
  /**
   * A later line of a profile whose lines wait is in already: they may not undo that any more, so what it sets is taken out
   * of them. Returns how many do not wait any more, because it erases their profile.
   */
  overtake: (line: CheckedLine) => number;
  count: () => number;
  /** The lines that wait, in the order of the file. */
  lines: () => CheckedLine[];
};

/** They must fit into one request, whose answer lists no more than so many refused lines, and are held in memory. */
const MOST = { lines: 10_000, bytes: 32 * 2 ** 20 };

/** `merge` tells whether what a line lacks stays. Keeps nothing that was refused for good. */
export function createWaitingLines(merge: boolean): WaitingLines {
  const waiting = new Map<number, CheckedLine[]>();
  let count = 0;
  let bytes = 0;
  const linesOf = (id: number) => waiting.get(id) ?? [];
  const set = (id: number, lines: CheckedLine[]): void => {
    for (const line of linesOf(id)) bytes -= Buffer.byteLength(line.body);
    for (const line of lines) bytes += Buffer.byteLength(line.body);
    count += lines.length - linesOf(id).length;
    if (lines.length === 0) waiting.delete(id);
    else waiting.set(id, lines);
  };
  return {
    add: (line) => {
      if (count >= MOST.lines || bytes + line.bytes > MOST.bytes) return false;
      set(line.id, [...linesOf(line.id), line]);
      return true;
    },
    has: (id) => waiting.has(id),
    overtake: (later) => {
      const earlier = linesOf(later.id);
      const left = later.isDeletion ? [] : earlier.map((line) => ({ ...line, body: overtaken(line, later, merge) }));
      set(later.id, left);
      return earlier.length - left.length;
    },
    count: () => count,
    lines: () => [...waiting.values()].flat().sort((a, b) => a.number - b.number),
  };
}

const FIELDS = new Map<string, { isKept?: true }>(FIELD_LIST.map((field) => [field.name, field]));

/**
 * What a later line leaves of an earlier one, as a line that changes nothing else of what the later one has made. Fields
 * that profiles don't have were counted before, and are left out.
 */
function overtaken(earlier: CheckedLine, later: CheckedLine, merge: boolean): string {
  if (earlier.isDeletion) return earlier.body;
  const after = fieldsOf(later);
  const set = new Set(after.map(([name]) => name));
  const left = fieldsOf(earlier).filter(([name]) => name === 'id' || !set.has(name));
  if (merge) return JSON.stringify(Object.fromEntries(left));
  // The later line has replaced all else.
  const kept = Object.fromEntries(left.filter(([name]) => FIELDS.get(name)?.isKept));
  const line = { ...Object.fromEntries(after), ...kept };
  return JSON.stringify(
    Array.isArray(kept.aliases) ? { ...line, aliases: aliasesBeside(line.username, kept.aliases) } : line,
  );
}

/** The aliases that are left where one of them has become the username, as the import itself drops it. */
function aliasesBeside(username: unknown, aliases: unknown[]): unknown[] {
  const taken = foldName(String(username));
  return aliases.filter((alias) => foldName(String(alias)) !== taken);
}

function fieldsOf({ body }: CheckedLine): [string, unknown][] {
  return Object.entries(JSON.parse(body) as Record<string, unknown>).filter(([name]) => FIELDS.has(name));
}
