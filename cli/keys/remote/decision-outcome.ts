import { notConfirmedText, refusedText } from '../../../shared/approval/approval-end.ts';
import { outcomeOf } from '../../../shared/approval/outcome.ts';
import { AppError } from '../../../shared/errors.ts';
import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation, ShownKey } from '../../../shared/operations/entry.ts';

// Compares a key on a remote server with an admin's intended decision.

/** The intended decision. `given` has the inputs from flags; the others are filled in on the page. */
export type Decision = {
  operation: AnyOperation;
  identifier: string;
  given: Readonly<Record<string, unknown>>;
};

/**
 * The result of a decision: null if nothing was decided since `before`, `as decided` if the key was changed
 * accordingly, otherwise the error to throw: `refused` if something else was decided, or the mail was refused
 * permanently; `try_later` if the mail can be tried again.
 */
export function endOf(decision: Decision, before: ShownKey, now: ShownKey): 'as decided' | AppError | null {
  const { operation, given } = decision;
  const { from, to, continuation, event } = operation;
  const { key } = now;
  // The approval of a successor changes the expiry of the old key too.
  const isOwn = ({ event: one, detail }: HistoryView) => one === event && detail?.successor === undefined;
  const entries = ({ history }: ShownKey) => history.filter(isOwn).length;
  const isDone = to === null ? entries(now) > entries(before) : key.state === to;
  if (isDone) return operation.lacks(now, given).length === 0 ? 'as decided' : otherThanGiven(key);
  if (from?.includes(key.state) === false) return otherwise(key);
  return continuation ? failureOf(before, now) : null;
}

/** The error if the values entered on the page differ from those of the flags. */
function otherThanGiven({ identifier, state }: KeyView): AppError {
  const sentence = `Key ${identifier} is ${state}, but not with the values given here; "profilectl keys show ${identifier}" shows its values.`;
  return new AppError('refused', sentence);
}

function otherwise({ identifier, state }: KeyView): AppError {
  const sentence = `Key ${identifier} is ${state}: something else was decided; "profilectl keys show ${identifier}" shows what.`;
  return new AppError('refused', sentence);
}

/** Why an attempt to approve the key that ended after `before` did not make it Active; null if there is none. */
function failureOf(before: ShownKey, { key, history }: ShownKey): AppError | null {
  const outcome = outcomeOf(key, history);
  const last = before.key.attempt;
  const ended = last === null ? 0 : last.result === 'open' ? last.number - 1 : last.number;
  if (outcome === null || outcome.number <= ended || outcome.result === 'open') return null;
  const { result, reason = '', isTemporary } = outcome;
  if (result === 'refused') return new AppError(isTemporary ? 'try_later' : 'refused', refusedText(key, reason));
  if (result === 'not confirmed') return new AppError('try_later', notConfirmedText(key, reason));
  const { identifier } = key;
  const sentence = `While the mail was being sent, something else was decided for key ${identifier}; "profilectl keys show ${identifier}" shows what. The secret in that mail will never work.`;
  return new AppError('refused', sentence);
}
