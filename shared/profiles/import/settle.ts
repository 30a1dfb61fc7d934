import type { Applier } from '../apply.ts';
import { type ProfileLine, type Refusal, wholeLine } from '../line.ts';
import { foldName } from '../name.ts';

// A line that was refused only because another profile has one of its names, or its auth ID, waits for the end: by then
// the other may have given it up, or may be waiting too, as when two profiles swap their names.

/** A line that waits, with its text, and why it would be refused now. */
export type WaitingLine = { number: number; text: string; line: ProfileLine; refusal: Refusal };

/** The lines that wait, each with all later lines of its profile, which must not be applied before it. */
type Waiting = {
  /** Returns false if there is no room for the line. */
  add: (entry: WaitingLine) => boolean;
  has: (id: number) => boolean;
  /** In the order of the file. */
  readonly lines: readonly WaitingLine[];
};

const MAX_WAITING = { lines: 100_000, characters: 64 * 1024 * 1024 };

/**
 * Lines that wait have the lock until all of them are applied. They may have so many names together, those of their profiles
 * included: a second's work or so, while no ban, no removal of a token and no rate limit can be stored.
 */
export const MAX_NAMES = 50_000;

/** The refusal of a line behind one of the same profile that waits. */
export const WAITS_BEHIND = wholeLine('an earlier line of the same profile waits for a name of another profile');

/** Keeps lines in memory, up to a limit. */
export function createWaiting(): Waiting {
  const lines: WaitingLine[] = [];
  const ids = new Set<number>();
  let characters = 0;
  return {
    add: (entry) => {
      if (lines.length >= MAX_WAITING.lines || characters >= MAX_WAITING.characters) return false;
      lines.push(entry);
      ids.add(entry.line.id);
      characters += entry.text.length;
      return true;
    },
    has: (id) => ids.has(id),
    lines,
  };
}

/** The profiles of which a line wants a name or the auth ID. */
export function holdersFor({ holderOf }: Pick<Applier, 'holderOf'>, { id, fields }: ProfileLine): number[] {
  const names = [fields?.username, ...(fields?.aliases ?? [])].filter((name) => name != null);
  const holders = names.map((name) => holderOf('name', foldName(name)));
  if (fields?.authId != null) holders.push(holderOf('auth', fields.authId));
  return holders.filter((holder) => holder !== null && holder !== id) as number[];
}

/**
 * The refused lines, and those that want a name of a profile which is left without a line, so that it keeps its names; and so on.
 */
export function withDependents(
  refused: readonly WaitingLine[],
  lines: readonly WaitingLine[],
  holders: ReadonlyMap<WaitingLine, readonly number[]>,
): Set<WaitingLine> {
  const wanters = Map.groupBy(
    lines.flatMap((one) => (holders.get(one) ?? []).map((id) => ({ id, one }))),
    ({ id }) => id,
  );
  const left = new Map<number, number>();
  for (const { line } of lines) left.set(line.id, (left.get(line.id) ?? 0) + 1);
  const found = new Set(refused);
  // The set grows during the loop.
  for (const { line } of found) {
    left.set(line.id, (left.get(line.id) ?? 0) - 1);
    if (left.get(line.id) === 0) for (const { one } of wanters.get(line.id) ?? []) found.add(one);
  }
  return found;
}
