import type { Refusal } from './refusal.ts';

/** Which line of the pass took a name (`name:` and its folded form) or an auth ID (`auth:` and the auth ID). */
export type TakenAt = { get: (what: string) => number | undefined; set: (what: string, line: number) => unknown };

/** A line that can't be applied as it stands, the profile that it is about, and why it would be refused. */
export type Loser = {
  line: number;
  id: number;
  refusal: Refusal;
  /** Whether another profile holds a name or auth ID: once it has given that up, the line can be applied. */
  isForName: boolean;
};

/**
 * A line that was applied but must not be, such as where two profiles claim one name or auth ID. `winner` is the line
 * that has the name, null where the other profile had it before the pass.
 */
export type Clash = Loser & { winner: number | null };

/** One of two lines that want the same, and why it would be refused. */
export type Side = { line: number; id: number; refusal: Refusal };

/** The clash of two profiles: the later line loses, but never a profile that had the name or auth ID before the pass. */
export function laterOf(waiting: Side, holder: Omit<Side, 'line'> & { line: number | undefined }): Clash {
  const { line } = holder;
  if (line === undefined) return { ...waiting, isForName: true, winner: null };
  return waiting.line > line
    ? { ...waiting, isForName: true, winner: line }
    : { ...holder, line, isForName: true, winner: waiting.line };
}
