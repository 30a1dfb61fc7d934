import { notConfirmedText, refusedText } from '../../../shared/approval/approval-end.ts';
import { AppError } from '../../../shared/errors.ts';
import { KEY_CHANGE } from '../../../shared/keys/fields/input-groups.ts';
import { differingFrom } from '../../../shared/keys/life/differing.ts';
import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';

// Whether a key has become what an admin wanted, by what a server says of it.

/** What an admin wants to decide: `given` has what the flags say, by input; the rest is chosen on the page. */
export type Wanted = {
  operation: AnyOperation;
  identifier: string;
  given: Readonly<Record<string, unknown>>;
};

/** A key and its history, as a server shows them. */
export type Shown = { key: KeyView; history: HistoryView[] };

/**
 * How the wait for a decision ends: null while nothing was decided since `before`. Otherwise the error to end with: `refused`
 * where the key became something else, or the mail server refused the mail for good; `try_later` where the mail may be
 * tried again.
 */
export function endOf(wanted: Wanted, before: Shown, now: Shown): 'as wanted' | AppError | null {
  const { operation, given } = wanted;
  const { from, to, goesOn } = operation;
  const { key } = now;
  if (to !== null && key.state === to) return asGiven(key, given);
  if (from?.includes(key.state) === false) return otherwise(key);
  if (to === null) return hasAll(key, grantOf(before.key)) ? null : asGiven(key, given);
  return goesOn ? failureOf(endedBefore(before.key), now) : null;
}

/** Whether a key has all of this already. */
export function hasAll(key: KeyView, given: Wanted['given']): boolean {
  return Object.keys(differingFrom(key, KEY_CHANGE.parse(given))).length === 0;
}

function grantOf({ permissions, rateLimits, expiresAt }: KeyView) {
  return { permissions, rateLimits, expiresAtMs: expiresAt === null ? null : Date.parse(expiresAt) };
}

/** What was chosen on the page instead of what the flags said is another decision than was asked for here. */
function asGiven(key: KeyView, given: Wanted['given']): 'as wanted' | AppError {
  if (hasAll(key, given)) return 'as wanted';
  const { identifier, state } = key;
  const sentence = `Key ${identifier} is ${state}, but not with what was asked for here: "profilectl keys show ${identifier}" says with what.`;
  return new AppError('refused', sentence);
}

function otherwise({ identifier, state }: KeyView): AppError {
  const sentence = `Key ${identifier} was decided otherwise and is ${state}: "profilectl keys show ${identifier}" says how.`;
  return new AppError('refused', sentence);
}

/** The number of the last attempt to approve a key that had ended. */
function endedBefore({ attempt }: KeyView): number {
  if (attempt === null) return 0;
  return attempt.result === 'open' ? attempt.number - 1 : attempt.number;
}

/** Why the latest attempt did not make a key Active, which is pending still; null where there is none, or it is open. */
function failureOf(ended: number, { key, history }: Shown): AppError | null {
  const { identifier, attempt } = key;
  if (attempt === null || attempt.number <= ended || attempt.result === 'open') return null;
  const { detail } = history.findLast((entry) => entry.detail?.attempt === attempt.number) ?? { detail: null };
  const reason = detail?.reason ?? '';
  if (attempt.result === 'refused') {
    return new AppError(detail?.isTemporary === true ? 'try_later' : 'refused', refusedText(key, reason));
  }
  if (attempt.result === 'not confirmed') return new AppError('try_later', notConfirmedText(key, reason));
  const sentence = `While the mail was on its way, key ${identifier} was decided otherwise: "profilectl keys show ${identifier}" says how. The secret in that mail will never work.`;
  return new AppError('refused', sentence);
}
