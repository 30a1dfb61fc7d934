import { FIELD_LIST } from '../../../shared/profiles/field-values.ts';
import { foldName } from '../../../shared/profiles/name.ts';
import type { CheckedLine } from './check-line.ts';

/**
 * Lines that were refused only because another profile has the name or auth ID, and the later lines of their profiles. They
 * are sent at the end of the file: by then the other profile may have given up the name, or its line is deferred too, if two
 * profiles swap names.
 */
export type DeferredLines = {
  /** Defers a line. False if there is no room for it. */
  add: (line: CheckedLine) => boolean;
  /** Whether a line of this profile is deferred, so that later ones must not be sent before it. */
  has: (id: number) => boolean;
  /**
   * To be called when a later line of a profile was applied before its deferred lines. Removes the fields that it sets from
   * them, so that they can't undo it. Returns the number of lines dropped because the later line erases the profile.
   */
  overtake: (line: CheckedLine) => number;
  count: () => number;
  /** The deferred lines, in the order of the file. */
  lines: () => CheckedLine[];
};

/** The lines are kept in memory, and must fit into one request, whose response lists at most 10 000 refused lines. */
const MAX = { lines: 10_000, bytes: 32 * 2 ** 20 };

/** Makes an empty list. `merge` says whether the import merges. */
export function createDeferredLines(merge: boolean): DeferredLines {
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
      if (count >= MAX.lines || bytes + line.bytes > MAX.bytes) return false;
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
 * What is left of an earlier line after a later one was applied: a line that changes only the fields that the later one did
 * not set. Unknown fields were counted before, and are omitted.
 */
function overtaken(earlier: CheckedLine, later: CheckedLine, merge: boolean): string {
  if (earlier.isDeletion) return earlier.body;
  const after = fieldsOf(later);
  const set = new Set(after.map(([name]) => name));
  const left = fieldsOf(earlier).filter(([name]) => name === 'id' || !set.has(name));
  if (merge) return JSON.stringify(Object.fromEntries(left));
  // The later line has replaced all other fields.
  const kept = Object.fromEntries(left.filter(([name]) => FIELDS.get(name)?.isKept));
  const line = { ...Object.fromEntries(after), ...kept };
  return JSON.stringify(
    Array.isArray(kept.aliases) ? { ...line, aliases: aliasesBeside(line.username, kept.aliases) } : line,
  );
}

/** The aliases without the one that is now the username, which an import drops too. */
function aliasesBeside(username: unknown, aliases: unknown[]): unknown[] {
  const taken = foldName(String(username));
  return aliases.filter((alias) => foldName(String(alias)) !== taken);
}

function fieldsOf({ body }: CheckedLine): [string, unknown][] {
  return Object.entries(JSON.parse(body) as Record<string, unknown>).filter(([name]) => FIELDS.has(name));
}
