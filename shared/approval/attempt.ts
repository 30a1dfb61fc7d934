import { eq } from 'drizzle-orm';
import { type Actor, actorText } from '../actor.ts';
import { isoTime } from '../clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { apiKeys, keyAttempts } from '../db/schema.ts';
import { write, writeNow } from '../db/write.ts';
import { APPROVAL_LEASE_MS, type Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { type Grant, KEY_REQUEST, parseInput } from '../keys/fields.ts';
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
import type { HistoryView, KeyView } from '../keys/view.ts';
import type { Delivery } from '../mail/send.ts';

// The transactions of an approval. Each reads the key and writes what `keys/key.ts` decides.

/** A started attempt: everything needed to compose the mail and to activate the key. */
export type Attempt = {
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
    parseInput(KEY_REQUEST, { ...key, permissions: key.requestedPermissions });
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
    const { by: name, byKind, startedAt, leaseEndsAt } = standing.openBy as StoredAttempt;
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

/** The result for a mail that was not accepted; the reason is a sentence for admins, without e-mail addresses and secrets. */
export type NotAccepted = Exclude<Delivery, { outcome: 'accepted' }>;

/**
 * Closes an attempt whose mail was not accepted, and adds the reason to the key's history. Returns false, without writing, if
 * the attempt was voided. Throws what `write` throws.
 */
export function closeAttempt(deps: Deps, attempt: Attempt, delivery: NotAccepted): boolean {
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
export function isOpenStill({ db }: Pick<Deps, 'db'>, { key: { identifier }, number }: Attempt): boolean {
  try {
    return mayActivate(approvable(db, readKey(db, identifier)), number);
  } catch {
    return true;
  }
}

/**
 * Step 3: stores the hash, makes the key Active and retires the key that it replaces as granted. Returns false, without writing,
 * if the attempt was voided.
 */
export function activateKey(deps: Deps, attempt: Attempt, secretHash: Uint8Array): boolean {
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
