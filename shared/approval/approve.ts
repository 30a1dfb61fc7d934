import { eq } from 'drizzle-orm';
import { type Actor, actorText } from '../actor.ts';
import { isoTime, systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Db, Tx } from '../db/connect.ts';
import { apiKeys, keyAttempts } from '../db/schema.ts';
import { whenFree, write, writeNow } from '../db/write.ts';
import { APPROVAL_LEASE_MS, type Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import type { Grant } from '../keys/fields.ts';
import { type DecidedGrant, decideGrant, type Predecessor, predecessorOf, retirePredecessor } from '../keys/grant.ts';
import { closingResult, decideBegin, MOVES, mayActivate, stateAt, VOIDING_EVENTS } from '../keys/key.ts';
import {
  type ApiKey,
  addKeyEvent,
  approvable,
  closeAttempts,
  moveKey,
  type Owner,
  reachableAddress,
  readKey,
  readOwner,
  refuseUnlikeKey,
  type StoredAttempt,
} from '../keys/record.ts';
import { hashSecret, newSecret } from '../keys/secret.ts';
import { type HistoryView, type KeyView, keyHistory, showKey } from '../keys/view.ts';
import type { Delivery, Mailer } from '../mail/send.ts';
import { approvalMail } from '../mail/texts.ts';

// The approval of a key. What an attempt may do is decided in `keys/key.ts`; here each transaction reads the key and writes that.

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

/** A started attempt: everything needed to compose the mail and to activate the key. */
type Attempt = {
  key: ApiKey;
  owner: Owner;
  address: string;
  number: number;
  by: Actor;
  grant: DecidedGrant;
  /** The key that this one replaces, as it will be after the activation. */
  predecessor: Predecessor | null;
  /** When the lease ends, on the monotonic clock. */
  leaseOverMs: number;
  /** Until when its mail may begin, on the same clock: a later one could outlast the lease. */
  mailUntilMs: number;
};

/** Step 1: checks everything, stores the grant and the address, raises the fence and opens the attempt. */
export function beginAttempt(deps: Deps, input: { identifier: string; grant: Grant; by: Actor }): Attempt {
  return writeNow(deps, (tx, nowMs) => {
    const key = readKey(tx, input.identifier);
    const { number, abandoned } = requireOpenable(tx, key, nowMs, input.by);
    const act = { by: input.by, atMs: nowMs };
    if (abandoned !== null) {
      closeAttempts(tx, key.identifier, 'not confirmed');
      addKeyEvent(tx, key, act, 'approval not confirmed', { attempt: abandoned });
    }
    const { owner, address } = requireOwner(tx, key);
    const grant = decideGrant({ ...deps, db: tx }, key, input.grant, nowMs);
    tx.update(apiKeys).set({ attemptNumber: number }).where(eq(apiKeys.identifier, key.identifier)).run();
    tx.insert(keyAttempts)
      .values({
        identifier: key.identifier,
        number,
        by: input.by.name,
        byKind: input.by.kind,
        startedAt: nowMs,
        leaseEndsAt: nowMs + deps.approvalLeaseMs,
        address,
        permissions: grant.permissions,
        rateLimits: grant.rateLimits,
        expiresAt: grant.expiresAtMs,
        retireOldAt: grant.retireOldAtMs,
        result: 'open',
      })
      .run();
    addKeyEvent(tx, key, act, 'approval started', { attempt: number });
    const predecessor = predecessorOf(tx, key, grant.retireOldAtMs, nowMs);
    const begunMs = deps.clock.monotonicMs();
    const leaseOverMs = begunMs + deps.approvalLeaseMs;
    const mailUntilMs = begunMs + APPROVAL_LEASE_MS / 2;
    return { key, owner, address, number, by: input.by, grant, predecessor, leaseOverMs, mailUntilMs };
  });
}

/** Throws if the key can't be approved now, or is unlike the one that was shown to `by`. */
function requireOpenable(db: Db | Tx, key: ApiKey, nowMs: number, by?: Actor) {
  const standing = approvable(db, key);
  const decision = decideBegin(standing, nowMs);
  if (decision.kind === 'taken') {
    const { by: name, byKind, startedAt, leaseEndsAt } = standing.open as StoredAttempt;
    throw new AppError(
      'try_later',
      `${actorText({ kind: byKind, name }, 'operator')} has been approving key ${key.identifier} since ${isoTime(startedAt)}; if that attempt has crashed, try again after ${isoTime(leaseEndsAt)}.`,
    );
  }
  if (by !== undefined) refuseUnlikeKey(db, key.identifier, by);
  if (decision.kind === 'begin') return decision;
  throw new AppError('refused', `Key ${key.identifier} is ${stateAt(key, nowMs)}; only pending keys can be approved.`);
}

function requireOwner(db: Db | Tx, key: ApiKey): { owner: Owner; address: string } {
  const owner = readOwner(db, key);
  if (owner === null) throw new AppError('not_found', `The profile of key ${key.identifier} no longer exists.`);
  return { owner, address: reachableAddress(owner) };
}

/** Throws if {@link beginAttempt} would refuse this key now. Returns its owner's e-mail address. */
export function checkOpenable(deps: Deps, identifier: string): string {
  const key = readKey(deps.db, identifier);
  requireOpenable(deps.db, key, deps.clock.nowMs());
  return requireOwner(deps.db, key).address;
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

/** The result for a mail that was not accepted; the reason is a sentence for admins, without e-mail addresses and secrets. */
type NotAccepted = Exclude<Delivery, { outcome: 'accepted' }>;

/** Resolves when the signal is aborted; then it is unknown whether the mail arrives. */
function givenUp(signal: AbortSignal): Promise<NotAccepted> {
  const { promise, resolve } = Promise.withResolvers<NotAccepted>();
  const reason = 'The server was stopped before the mail was confirmed, so it may or may not arrive.';
  const give = () => resolve({ outcome: 'unknown', reason });
  if (signal.aborted) give();
  else signal.addEventListener('abort', give, { once: true });
  return promise;
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
 * Closes an attempt whose mail was not accepted, and adds the reason to the key's history. Returns false, without writing, if
 * the attempt was voided. Throws what `write` throws.
 */
function closeAttempt(deps: Deps, attempt: Attempt, delivery: NotAccepted): boolean {
  const { outcome, reason } = delivery;
  const isTemporary = outcome === 'refused' && !delivery.permanent;
  return write(deps.db, (tx) => {
    const key = readKey(tx, attempt.key.identifier);
    const result = closingResult(approvable(tx, key), attempt.number, outcome);
    if (result === null) return false;
    closeAttempts(tx, key.identifier, result);
    const act = { by: attempt.by, atMs: deps.clock.nowMs() };
    const event = result === 'refused' ? 'approval refused' : 'approval not confirmed';
    addKeyEvent(tx, key, act, event, { attempt: attempt.number, reason, ...(isTemporary && { isTemporary }) });
    return true;
  });
}

/** Whether the attempt was not voided so far; also true if the database can't be read. */
function isOpenStill({ db }: Pick<Deps, 'db'>, { key: { identifier }, number }: Attempt): boolean {
  try {
    return mayActivate(approvable(db, readKey(db, identifier)), number);
  } catch {
    return true;
  }
}

/** How long each try to begin the last transaction waits; between two of them the lease and the signal are looked at. */
const TRY_MS = 250;

/**
 * Step 3. Returns false if the attempt was voided while the mail was on its way. Waits for the database's lock for the rest of
 * the lease, since only this makes the mailed secret work; once the signal is aborted, it tries once. What it writes is tried
 * once: it is unknown whether a commit that failed was undone.
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

/**
 * Stores the hash, makes the key Active and retires the key that it replaces as granted. Returns false, without writing, if the
 * attempt was voided.
 */
function activateKey(deps: Deps, attempt: Attempt, secretHash: Uint8Array): boolean {
  return write(deps.db, (tx) => {
    const key = readKey(tx, attempt.key.identifier);
    if (!mayActivate(approvable(tx, key), attempt.number)) return false;
    const { permissions, rateLimits, expiresAtMs, retireOldAtMs } = attempt.grant;
    const also = { permissions, rateLimits, expiresAt: expiresAtMs, secretHash: Buffer.from(secretHash) };
    closeAttempts(tx, key.identifier, 'accepted');
    const act = { by: attempt.by, atMs: deps.clock.nowMs() };
    const retiresOldAt = retirePredecessor(tx, key, retireOldAtMs, act);
    const detail = { attempt: attempt.number, ...(retiresOldAt !== null && { retiresOldAt }) };
    moveKey(tx, key, 'approve', act, { also, detail });
    return true;
  });
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
function endOfAttempt(history: readonly HistoryView[], attempt: number): HistoryView | undefined {
  const start = history.findIndex(({ event, detail }) => event === 'approval started' && detail?.attempt === attempt);
  return history
    .slice(start + 1)
    .find(({ event, detail }) => ENDING_EVENTS.includes(event) && (detail?.attempt ?? attempt) === attempt);
}

const UNSENT = ['approval refused', 'approval not confirmed'] as const;

const ENDING_EVENTS: readonly HistoryView['event'][] = [MOVES.approve.event, ...UNSENT, ...VOIDING_EVENTS];
