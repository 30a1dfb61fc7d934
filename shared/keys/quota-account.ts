import { NEVER_SAVED } from './account-memory.ts';
import { type LimitTexts, limitTexts, type RateLimit } from './rate-limit.ts';
import { noteLevel, type Ring, remainingAt } from './ring.ts';
import type { Region } from './shared-region.ts';

/** What a key has used of its rate limits: a ring for each, in the order in which they were granted. */
export type Account = {
  readonly identifier: string;
  /** From the verifier: one object for all keys that were granted the same. */
  readonly limits: readonly RateLimit[];
  /** What answers say of these. */
  readonly texts: LimitTexts;
  /** Unused ones of an account in shared memory that was not looked for there yet. */
  rings: Ring[];
  isDirty: boolean;
  /** False while it is only known from the file, in the file's order, and once it was dropped. */
  isComplete: boolean;
  /** Where it lies in shared memory, once it has been looked for there. */
  region: Region | null;
};

/** An account that stands as these rings do, which are in the order of their limits. */
export function newAccount(
  identifier: string,
  limits: readonly RateLimit[],
  rings: Ring[],
  isComplete: boolean,
): Account {
  return { identifier, limits, texts: limitTexts(limits), rings, isDirty: false, isComplete, region: null };
}

/** An account, and for each ring the head after which something is written of it. */
export type AccountSince = { account: Account; heads: readonly number[] };

/** What has come to an account since it was last saved. */
export function sinceSaved(account: Account): AccountSince {
  return { account, heads: account.rings.map(({ savedHead }) => savedHead) };
}

/** Whether nothing that the file has of an account counts. */
export function isNeverSaved({ rings }: Account): boolean {
  return rings.some(({ savedHead }) => savedHead === NEVER_SAVED);
}

/** Whether every request has left its window: the account is as good as new. */
export function isUnused(rings: readonly Ring[], now: number): boolean {
  return rings.every((ring) => remainingAt(ring, now) === ring.quota);
}

/** Notes where each limit stands at `now`. */
export function noteLevels({ rings }: Account, now: number): void {
  for (const ring of rings) noteLevel(ring, now);
}
