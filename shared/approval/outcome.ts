import { MOVES, VOIDING_EVENTS } from '../keys/key.ts';
import type { HistoryView, KeyView } from '../keys/view.ts';

/** The outcome of an attempt to approve a key. */
export type AttemptOutcome = NonNullable<KeyView['attempt']> & {
  /** The entry of the history that ended it; undefined while it is open, and after a crash. */
  end: HistoryView | undefined;
  /** Why the mail was not accepted; undefined if it was, or if the viewer is an owner. */
  reason: string | undefined;
  /** Whether the mail server's error was temporary. */
  isTemporary: boolean;
};

/** The outcome of the latest attempt to approve a key, from the key and its history alone; null if there was none. */
export function outcomeOf(
  { attempt }: Pick<KeyView, 'attempt'>,
  history: readonly HistoryView[],
): AttemptOutcome | null {
  if (attempt === null) return null;
  const end = endOfAttempt(history, attempt.number);
  const detail = UNSENT.some((event) => event === end?.event) ? end?.detail : null;
  return { ...attempt, end, reason: detail?.reason, isTemporary: detail?.isTemporary === true };
}

/** The first entry after the start of an attempt that closed it, made the key Active or voided it. */
export function endOfAttempt(history: readonly HistoryView[], attempt: number): HistoryView | undefined {
  const start = history.findIndex(({ event, detail }) => event === 'approval started' && detail?.attempt === attempt);
  return history
    .slice(start + 1)
    .find(({ event, detail }) => ENDS.includes(event) && (detail?.attempt ?? attempt) === attempt);
}

const UNSENT = ['approval refused', 'approval not confirmed'] as const;

const ENDS: readonly HistoryView['event'][] = [MOVES.approve.event, ...UNSENT, ...VOIDING_EVENTS];
