import type { KeyState } from '../db/key-columns.ts';
import type { Deps } from '../deps.ts';
import { VOIDING_CHANGES } from '../keys/key.ts';
import { keyHistory, showKey } from '../keys/view.ts';
import type { Attempt } from './attempt.ts';
import { endOfAttempt } from './outcome.ts';

// What the admin reads if an approval did not make its key Active. Somebody else may have decided on the key in between, so
// each sentence says in which state it is now.

type Standing = { identifier: string; state: KeyState };

/** The sentence if the mail was not accepted. */
export function refusedText(key: Standing, reason: string): string {
  const { identifier, state } = key;
  return `${reason} ${state === 'pending' ? `Key ${identifier} is still pending.` : decidedText(key)}`.trimStart();
}

/** The sentence if it is unknown whether the mail arrives. */
export function notConfirmedText(key: Standing, reason: string): string {
  const { identifier, state } = key;
  const never = 'the secret in that mail, if it arrives, will never work.';
  const rest =
    state === 'pending'
      ? `key ${identifier} stays pending, and ${never} Approve again to send a new one.`
      : `${never} ${decidedText(key)}`;
  return `${reason} Delivery is not confirmed: ${rest}`.trimStart();
}

function decidedText({ identifier, state }: Standing): string {
  return `Key ${identifier} is now ${state}; see "profilectl keys show ${identifier}".`;
}

/** The current state of a key; `pending` if the database can't be read. */
export function standingOf(deps: Deps, identifier: string): Standing {
  try {
    return showKey(deps, identifier);
  } catch {
    return { identifier, state: 'pending' };
  }
}

/** What invalidated an attempt, as the end of a sentence, followed by what to do about it. */
export function whatHappened(deps: Deps, { key: { identifier }, owner, number }: Attempt): string {
  const see = `see "profilectl keys show ${identifier}".`;
  const event = endOfAttempt(keyHistory(deps, identifier), number)?.event;
  const change = VOIDING_CHANGES.find((one) => one === event);
  if (change === undefined) return `another decision was made on key ${identifier}; ${see}`;
  const { happened, advice } = AFTER_CHANGE[change];
  const { state } = showKey(deps, identifier);
  const next =
    state === 'pending'
      ? `Key ${identifier} is still pending: ${advice}.`
      : `Key ${identifier} is now ${state}; ${see}`;
  return `${happened(owner.username)}. ${next}`;
}

const AFTER_CHANGE: Record<
  (typeof VOIDING_CHANGES)[number],
  { happened: (username: string) => string; advice: string }
> = {
  'address changed': {
    happened: (username) => `the e-mail address of ${username} was changed`,
    advice: 'make sure that its owner is still the same, and approve it again',
  },
  'profile banned': {
    happened: (username) => `the profile ${username} was banned`,
    advice: 'it can be approved once the ban is lifted',
  },
};

/** The sentence on when a key whose attempt could not be closed can be approved again. */
export function stillOpenText({ approvalLeaseMs }: Deps): string {
  return `The database could not be written, so the key can be approved again only after ${approvalLeaseMs / 1000} s.`;
}
