import { type LimitTexts, limitTexts, type RateLimit } from './rate-limit.ts';
import { fullLevel, type Level, type Ring, readLevel, remainingAt } from './ring.ts';
import type { Region } from './shared-region.ts';

/** What a key has used of its rate limits: a ring for each, in the order in which they were granted. */
export type Account = {
  readonly identifier: string;
  /** Where each limit stood when it was last spent from or looked at: what answers say. */
  readonly levels: readonly Level[];
  readonly texts: LimitTexts;
  rings: Ring[];
  /** For each ring, the head that is in the file. */
  savedHeads: number[];
  isDirty: boolean;
  /** False while it is only known from the file, in the file's order, and once it was dropped. */
  isComplete: boolean;
  /** Where it lies in shared memory, once it has been looked for there. */
  region: Region | null;
};

/** An account that stands as these rings do, which are in the order of their limits; the file has them so already. */
export function newAccount(
  identifier: string,
  limits: readonly RateLimit[],
  rings: Ring[],
  isComplete: boolean,
): Account {
  const savedHeads = rings.map((ring) => ring.head);
  return {
    identifier,
    levels: limits.map(fullLevel),
    texts: limitTexts(limits),
    rings,
    savedHeads,
    isDirty: false,
    isComplete,
    region: null,
  };
}

/** Whether every request has left its window: the account is as good as new. */
export function isUnused(rings: readonly Ring[], now: number): boolean {
  return rings.every((ring) => remainingAt(ring, now) === ring.quota);
}

/** Writes where an account stands at `now` into its levels. */
export function readLevels({ rings, levels }: Account, now: number): void {
  for (let index = 0; index < rings.length; index++) readLevel(rings[index] as Ring, now, levels[index] as Level);
}
