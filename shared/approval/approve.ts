import type { Actor } from '../actor.ts';
import type { Config } from '../config/config.ts';
import type { KeyState } from '../db/key-columns.ts';
import { whenFree } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import type { Grant } from '../keys/fields.ts';
import { VOIDING_CHANGES } from '../keys/key.ts';
import { hashSecret, newSecret } from '../keys/secret.ts';
import { keyHistory, showKey } from '../keys/view.ts';
import type { Mailer } from '../mail/send.ts';
import { approvalMail } from '../mail/texts/key-mails.ts';
import {
  type Attempt,
  activateKey,
  beginAttempt,
  closeAttempt,
  endOfAttempt,
  isOpenStill,
  type NotAccepted,
} from './attempt.ts';

const STORE_RETRY_MS = 250;

/** An approval whose attempt is open and holds the lease. */
type BegunApproval = {
  identifier: string;
  /** The address to which the secret is mailed; only for the person who approved. */
  mailedTo: string;
  /**
   * Mails the secret and activates the key. Throws `refused` (mail refused for good) and `try_later` (mail server
   * unreachable, delivery not confirmed). When the signal is aborted, it stops waiting and stores `not confirmed`.
   */
  finish: (signal?: AbortSignal) => Promise<void>;
};

/**
 * Begins the approval of a pending request. An approval has three steps, so that no Active key exists whose secret was not
 * accepted for delivery, and at most one mailed secret works: open a fenced, leased attempt (this function), mail the secret,
 * activate the key (both `finish`). The secret exists only in that function's memory and in that one mail.
 *
 * Throws `usage` (grant), `not_found`, `refused` (not pending, unsuitable profile, `MAIL_URL` unset), `try_later` (another
 * attempt is open), `busy`.
 */
export async function beginApproval(
  deps: Deps,
  input: { identifier: string; grant: Grant; by: Actor },
): Promise<BegunApproval> {
  const mailer = await requireMailer(deps);
  const attempt = await whenFree(deps.db.$client, () => beginAttempt(deps, input));
  return {
    identifier: attempt.key.identifier,
    mailedTo: attempt.address,
    finish: async (signal = new AbortController().signal) => {
      const secret = newSecret(attempt.key.identifier, deps.random);
      await deliver(deps, mailer, attempt, { secret, signal });
      await activate(deps, attempt, { secretHash: hashSecret(secret), signal });
    },
  };
}

/** Throws `refused` or `try_later` if no mail can be sent now. Contacts the mail server, for at most ten seconds. */
export async function checkMailer(deps: Deps): Promise<void> {
  const state = await (await requireMailer(deps)).check();
  if (state.outcome === 'accepted') return;
  const isForGood = state.outcome === 'refused' && state.permanent;
  throw new AppError(isForGood ? 'refused' : 'try_later', `No secret can be mailed now. ${state.reason}`);
}

/** Returns the mailer. Throws `refused` if `MAIL_URL` is not set. */
async function requireMailer(deps: Deps): Promise<Mailer> {
  const mailer = await deps.mailer();
  if (mailer === null) throw noMail();
  return mailer;
}

/** Throws `refused` if `MAIL_URL` is not set. */
export function refuseWithoutMail({ mail }: Config): void {
  if (mail === null) throw noMail();
}

function noMail(): AppError {
  return new AppError(
    'refused',
    'MAIL_URL is not set, so the secret could not be sent. Set it to smtp://user:password@host:587, or to file:<folder> to try it out.',
  );
}

type Made = { secretHash: Uint8Array; signal: AbortSignal };

/** Resolves when the signal is aborted; then it is unknown whether the mail arrives. */
function givenUp(signal: AbortSignal): Promise<NotAccepted> {
  const { promise, resolve } = Promise.withResolvers<NotAccepted>();
  const reason = 'The server was stopped before the mail was confirmed, so it may or may not arrive.';
  const give = () => resolve({ outcome: 'unknown', reason });
  if (signal.aborted) give();
  else signal.addEventListener('abort', give, { once: true });
  return promise;
}

/** Step 2: sends the mail. If it was not accepted, closes the attempt and throws what happened. */
async function deliver(
  deps: Deps,
  mailer: Mailer,
  attempt: Attempt,
  { secret, signal }: { secret: string; signal: AbortSignal },
): Promise<void> {
  const { key, owner, address, grant, predecessor } = attempt;
  const sending = mailer.send({
    to: address,
    ...approvalMail({
      identifier: key.identifier,
      secret,
      keyName: key.name,
      profile: owner.username,
      requestedPermissions: key.requestedPermissions,
      ...grant,
      predecessor,
      publicName: deps.config.publicName,
      publicUrl: deps.config.publicUrl,
      contact: deps.config.contact,
      pages: deps.config.ownerPages,
    }),
  });
  const delivery = await Promise.race([sending, givenUp(signal)]);
  if (delivery.outcome === 'accepted') return;
  const closing = tryToClose(deps, attempt, delivery);
  if (closing === 'voided') {
    throw new AppError(
      'refused',
      `${delivery.reason} Meanwhile, ${whatHappened(deps, attempt)} A secret in that mail will never work.`,
    );
  }
  const hint = closing === 'closed' ? '' : ` ${stillOpenText(deps)}`;
  const standing = standingOf(deps, key.identifier);
  if (delivery.outcome === 'refused') {
    throw new AppError(
      delivery.permanent ? 'refused' : 'try_later',
      `${refusedText(standing, delivery.reason)}${hint}`,
    );
  }
  throw new AppError('try_later', `${notConfirmedText(standing, delivery.reason)}${hint}`);
}

function tryToClose(deps: Deps, attempt: Attempt, delivery: NotAccepted): 'closed' | 'voided' | 'still open' {
  try {
    return closeAttempt(deps, attempt, delivery) ? 'closed' : 'voided';
  } catch {
    return isOpenStill(deps, attempt) ? 'still open' : 'voided';
  }
}

/** Step 3: stores the hash, unless the attempt was voided while the mail was on its way. */
async function activate(deps: Deps, attempt: Attempt, made: Made): Promise<void> {
  if (await storeActivation(deps, attempt, made)) return;
  throw new AppError(
    'refused',
    `While the mail was on its way, ${whatHappened(deps, attempt)} The secret in that mail will never work.`,
  );
}

/** Retries for the rest of the lease, since only this makes the mailed secret work; once the signal is aborted, tries once. */
async function storeActivation(deps: Deps, attempt: Attempt, { secretHash, signal }: Made): Promise<boolean> {
  for (;;) {
    try {
      return activateKey(deps, attempt, secretHash);
    } catch (error) {
      // A locked or full database may recover; anything else is a bug and surfaces.
      if (!(error instanceof AppError)) throw error;
      if (!isOpenStill(deps, attempt)) return false;
      if (signal.aborted || deps.clock.monotonicMs() + STORE_RETRY_MS >= attempt.leaseOverMs) {
        throw new AppError(
          'try_later',
          `The mail was accepted, but the database could not be written: key ${attempt.key.identifier} stays pending and the secret in that mail will never work. Approve again to send a new one.`,
          { cause: error },
        );
      }
    }
    await Bun.sleep(STORE_RETRY_MS);
  }
}

// What the admin reads if an approval did not make its key Active. Somebody else may have decided on the key in between, so
// each sentence says in which state it is now.

type Standing = { identifier: string; state: KeyState };

/** The sentence if the mail was not accepted. */
export function refusedText(key: Standing, reason: string): string {
  const { identifier, state } = key;
  return `${reason} ${state === 'pending' ? `Key ${identifier} is still pending.` : decidedText(key)}`.trimStart();
}

/** The sentence if it is unknown whether the mail arrives. */
function notConfirmedText(key: Standing, reason: string): string {
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
function standingOf(deps: Deps, identifier: string): Standing {
  try {
    return showKey(deps, identifier);
  } catch {
    return { identifier, state: 'pending' };
  }
}

/** What invalidated an attempt, as the end of a sentence, followed by what to do about it. */
function whatHappened(deps: Deps, { key: { identifier }, owner, number }: Attempt): string {
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
function stillOpenText({ approvalLeaseMs }: Deps): string {
  return `The database could not be written, so the key can be approved again only after ${approvalLeaseMs / 1000} s.`;
}
