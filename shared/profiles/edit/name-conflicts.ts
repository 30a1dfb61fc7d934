import type { Refusal } from './refusal.ts';

/** Which line of the pass took a name (`name:` and its folded form) or an auth ID (`auth:` and the auth ID). */
export type TakenAt = { get: (what: string) => number | undefined; set: (what: string, line: number) => unknown };

/** A line that can't be applied, its profile, and why it would be refused. */
export type Loser = {
  line: number;
  id: number;
  refusal: Refusal;
  /** Whether another profile has the name or auth ID: once it is free, the line can be applied. */
  isForName: boolean;
};

/**
 * A conflicting line, for example if two profiles want the same name or auth ID: the batch has to be rolled back.
 * `winner` is the line that got the name, null if the other profile had it before the pass.
 */
export type NameConflict = Loser & { winner: number | null };

/** One of two lines in conflict, and why it would be refused. */
export type Side = { line: number; id: number; refusal: Refusal };

/**
 * The conflict of two profiles: the later line loses, but never a profile that had the name or auth ID before the pass.
 */
export function laterOf(waiting: Side, holder: Omit<Side, 'line'> & { line: number | undefined }): NameConflict {
  const { line } = holder;
  if (line === undefined) return { ...waiting, isForName: true, winner: null };
  return waiting.line > line
    ? { ...waiting, isForName: true, winner: line }
    : { ...holder, line, isForName: true, winner: waiting.line };
}
