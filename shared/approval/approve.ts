import type { Actor } from '../actor.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { whenFree } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import type { Grant } from '../keys/fields.ts';
import { hashSecret, newSecret } from '../keys/secret.ts';
import { keyHistory, showKey } from '../keys/view.ts';
import type { Mailer } from '../mail/send.ts';
import { approvalMail } from '../mail/texts.ts';
import {
  type Attempt,
  activateKey,
  beginAttempt,
  closeAttempt,
  endOfAttempt,
  isOpenStill,
  type NotAccepted,
} from './attempt.ts';

/** How long each try to begin the last transaction waits; between two of them the lease and the signal are looked at. */
const TRY_MS = 250;

/** An approval whose attempt is open and holds the lease. */
type BegunApproval = {
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
    mailedTo: attempt.address,
    finish: async (signal = new AbortController().signal) => {
      if (deps.clock.monotonicMs() > attempt.mailUntilMs) throw await unsent(deps, attempt, TOO_LATE);
      const secret = newSecret(attempt.key.identifier, deps.random);
      const delivery = await Promise.race([mailSecret(deps, mailer, attempt, secret), givenUp(signal)]);
      if (delivery.outcome !== 'accepted') throw await unsent(deps, attempt, delivery);
      if (!(await activate(deps, attempt, hashSecret(secret), signal))) throw voided(deps, attempt);
    },
  };
}

/** For the mails of several approvals, which wait for each other. */
const TOO_LATE: NotAccepted = {
  outcome: 'refused',
  permanent: false,
  reason: 'The mail server was too slow with the mails before this one, so this one was not sent.',
};

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
    "MAIL_URL is not set, so the secret can't be sent. Set it to smtp://user:password@host:587, or to file:<folder> to try it out.",
  );
}

/** Resolves when the signal is aborted; then it is unknown whether the mail arrives. */
function givenUp(signal: AbortSignal): Promise<NotAccepted> {
  const { promise, resolve } = Promise.withResolvers<NotAccepted>();
  const reason = 'The server was stopped before the mail was confirmed, so it may or may not arrive.';
  const give = () => resolve({ outcome: 'unknown', reason });
  if (signal.aborted) give();
  else signal.addEventListener('abort', give, { once: true });
  return promise;
}

/** Step 2. */
function mailSecret({ config }: Deps, mailer: Mailer, attempt: Attempt, secret: string) {
  const { key, owner, address, grant, predecessor } = attempt;
  const { publicName, publicUrl, contact, ownerPages: pages } = config;
  return mailer.send({
    to: address,
    ...approvalMail({
      identifier: key.identifier,
      secret,
      keyName: key.name,
      profile: owner.username,
      requestedPermissions: key.requestedPermissions,
      ...grant,
      predecessor,
      publicName,
      publicUrl,
      contact,
      pages,
    }),
  });
}

/** Closes an attempt whose mail was not accepted. Returns what to tell the admin. */
async function unsent(deps: Deps, attempt: Attempt, delivery: NotAccepted): Promise<AppError> {
  const { identifier } = attempt.key;
  try {
    const isClosed = await whenFree(deps.db.$client, () => closeAttempt(deps, attempt, delivery));
    if (!isClosed) return voided(deps, attempt, delivery.reason);
  } catch {
    // It stays open until its lease ends.
    if (!isOpenStill(deps, attempt)) return voided(deps, attempt, delivery.reason);
  }
  if (delivery.outcome === 'unknown') {
    return new AppError(
      'try_later',
      `${delivery.reason} Delivery is not confirmed: key ${identifier} stays pending, and the secret in that mail, if it arrives, will never work. Approve again to send a new one.`,
    );
  }
  const code = delivery.permanent ? 'refused' : 'try_later';
  return new AppError(code, `${delivery.reason} Key ${identifier} is still pending.`);
}

/**
 * Step 3: stores the hash. Returns false if the attempt was voided while the mail was on its way. Waits for the database's lock
 * for the rest of the lease, since only this makes the mailed secret work; once the signal is aborted, it tries once. What it
 * writes is tried once: it is unknown whether a commit that failed was undone.
 */
async function activate(deps: Deps, attempt: Attempt, secretHash: Uint8Array, signal: AbortSignal): Promise<boolean> {
  let hasBegun = false;
  const store = () => {
    hasBegun = true;
    return activateKey(deps, attempt, secretHash);
  };
  for (;;) {
    try {
      return await whenFree(deps.db.$client, store, systemClock.monotonicMs() + TRY_MS);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (hasBegun || signal.aborted || deps.clock.monotonicMs() + TRY_MS >= attempt.leaseOverMs) {
        throw new AppError(
          'try_later',
          `The mail was accepted, but the database could not be written: key ${attempt.key.identifier} stays pending and the secret in that mail will never work. Approve again to send a new one.`,
          { cause: error },
        );
      }
    }
  }
}

/** What to tell the admin if the attempt was voided while the mail was on its way. */
function voided(deps: Deps, { key: { identifier }, owner, number }: Attempt, reason = ''): AppError {
  const event = endOfAttempt(keyHistory(deps, identifier), number)?.event;
  const what =
    event === 'address changed'
      ? `the e-mail address of ${owner.username} was changed`
      : event === 'profile banned'
        ? `the profile ${owner.username} was banned`
        : `another decision was made on key ${identifier}`;
  const { state } = showKey(deps, identifier);
  const sentence = `While the mail was on its way, ${what}: the secret in that mail will never work. Key ${identifier} is now ${state}; see "profilectl keys show ${identifier}".`;
  return new AppError('refused', `${reason} ${sentence}`.trimStart());
}
