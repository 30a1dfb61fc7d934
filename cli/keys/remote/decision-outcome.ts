import { notConfirmedText, refusedText } from '../../../shared/approval/approval-end.ts';
import { AppError } from '../../../shared/errors.ts';
import { KEY_CHANGE } from '../../../shared/keys/fields/input-groups.ts';
import { differingFrom } from '../../../shared/keys/life/differing.ts';
import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';

// Compares a key at a server with what an admin wanted to decide.

/** What an admin wants to decide: `given` has the inputs given by flags; the others are chosen on the page. */
export type Decision = {
  operation: AnyOperation;
  identifier: string;
  given: Readonly<Record<string, unknown>>;
};

/** A key and its history, as a server shows them. */
export type ShownKey = { key: KeyView; history: HistoryView[] };

/**
 * The result of a decision: null while nothing was decided since `before`; `as decided` if the key was changed accordingly;
 * otherwise the error to throw: `refused` if something else was decided, or the mail server refused the mail for good,
 * `try_later` if the mail can be tried again.
 */
export function endOf(decision: Decision, before: ShownKey, now: ShownKey): 'as decided' | AppError | null {
  const { operation, given } = decision;
  const { from, to, continuation } = operation;
  const { key } = now;
  if (to !== null && key.state === to) return asGiven(key, given);
  if (from?.includes(key.state) === false) return otherwise(key);
  if (to === null) return hasAll(key, grantOf(before.key)) ? null : asGiven(key, given);
  return continuation ? failureOf(endedBefore(before.key), now) : null;
}

/** Whether a key already has all of these inputs. */
export function hasAll(key: KeyView, given: Decision['given']): boolean {
  return Object.keys(differingFrom(key, KEY_CHANGE.parse(given))).length === 0;
}

function grantOf({ permissions, rateLimits, expiresAt }: KeyView) {
  return { permissions, rateLimits, expiresAtMs: expiresAt === null ? null : Date.parse(expiresAt) };
}

/** Refuses if the admin chose something else on the page than the flags said. */
function asGiven(key: KeyView, given: Decision['given']): 'as decided' | AppError {
  if (hasAll(key, given)) return 'as decided';
  const { identifier, state } = key;
  const sentence = `Key ${identifier} is ${state}, but not with the values given here: "profilectl keys show ${identifier}" shows what it has.`;
  return new AppError('refused', sentence);
}

function otherwise({ identifier, state }: KeyView): AppError {
  const sentence = `Key ${identifier} is ${state}: something else was decided; "profilectl keys show ${identifier}" shows what.`;
  return new AppError('refused', sentence);
}

/** The number of the last ended attempt to approve a key. */
function endedBefore({ attempt }: KeyView): number {
  if (attempt === null) return 0;
  return attempt.result === 'open' ? attempt.number - 1 : attempt.number;
}

/** Why the latest attempt after number `ended` failed to make a key Active; null if there is none, or it is still open. */
function failureOf(ended: number, { key, history }: ShownKey): AppError | null {
  const { identifier, attempt } = key;
  if (attempt === null || attempt.number <= ended || attempt.result === 'open') return null;
  const { detail } = history.findLast((entry) => entry.detail?.attempt === attempt.number) ?? { detail: null };
  const reason = detail?.reason ?? '';
  if (attempt.result === 'refused') {
    return new AppError(detail?.isTemporary === true ? 'try_later' : 'refused', refusedText(key, reason));
  }
  if (attempt.result === 'not confirmed') return new AppError('try_later', notConfirmedText(key, reason));
  const sentence = `While the mail was on its way, something else was decided for key ${identifier}: "profilectl keys show ${identifier}" shows what. The secret in that mail will never work.`;
  return new AppError('refused', sentence);
}
