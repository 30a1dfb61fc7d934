import { eq } from 'drizzle-orm';
import { type Actor, SERVICE } from '../actor.ts';
import { DAY_MS, isoTime } from '../clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { apiKeys, type KeyEventName } from '../db/schema.ts';
import { write, writeNow } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import type { Act } from '../events.ts';
import type { Text } from '../mail/compose.ts';
import { type KeyNews, type MailConfig, mailFormerAddress, mailOwner, tellAdmins } from '../mail/outbox.ts';
import {
  changeMail,
  exposureMail,
  rejectionMail,
  requestMail,
  resumptionMail,
  revocationMail,
  suspensionMail,
} from '../mail/texts.ts';
import { findProfile, refuseUnlikeProfile } from '../profiles/find.ts';
import { cleanForTerminal } from '../text.ts';
import type { KeyChange, KeyRequest } from './fields.ts';
import { ALREADY_SO, checkSuccession, type NewGrant, setGrant } from './grant.ts';
import { refuseTimePast } from './inputs.ts';
import { hasSecret, KEYS_PER_PROFILE, type Move, SECRET_HOLDERS, stateAt } from './key.ts';
import {
  type ApiKey,
  addKeyEvent,
  approvable,
  closeAttempts,
  moveKey,
  type Owner,
  reachableAddress,
  readKey,
  readOwnerById,
  refuseErased,
  refuseState,
  refuseUnlikeKey,
  slotHolders,
} from './record.ts';
import { storeSearchTexts } from './search.ts';
import { identifierOfSecret, newIdentifier, secretMatches, secretsIn } from './secret.ts';

// Everything in the life of a key except its approval (`shared/approval/`). Each function checks the rules, changes the database
// and stores the mails in one immediate transaction; `shared/mail/delivery.ts` sends them.

/** A validated request for the profile with this username or alias, or with this id if it was already looked up. */
type NewRequest = Omit<KeyRequest, 'projectUrl' | 'expectedUsage'> &
  Partial<KeyRequest> & {
    profile: string;
    profileId?: number | null | undefined;
    successorOf?: string | null;
    by: Actor;
  };

/**
 * Requests a key: creates it as pending and tells the admins. If the same request of the owner already waits (a form can be sent
 * twice), returns its key and does nothing. Throws `not_found` for the profile, `refused` if it is banned, has no e-mail address
 * or has {@link KEYS_PER_PROFILE} keys, or if the key to replace is not an Active one of the same profile, and
 * `too_many_requests` after five requests on one day.
 */
export function requestKey(deps: Deps, request: NewRequest): Outcome {
  const { name, description, permissions, projectUrl = null, expectedUsage = null } = request;
  const rest = { name, description, projectUrl, expectedUsage };
  const successorOf = request.successorOf ?? null;
  const profileId = askingProfile(deps.db, request);
  return writeNow(deps, (tx, nowMs) => {
    refuseUnlikeProfile(tx, profileId, request.by);
    const same = { ...rest, requestedPermissions: permissions, state: 'pending', successorOf };
    const sentBefore = slotHolders(tx, profileId, nowMs).find((key) => Bun.deepEquals({ ...key, ...same }, key));
    if (request.by.kind === 'owner' && sentBefore !== undefined) {
      return { identifier: sentBefore.identifier, mailIds: [], warning: null };
    }
    const owner = ownerWithFreeSlot(tx, profileId, nowMs);
    if (successorOf !== null) checkSuccession(tx, successorOf, owner, nowMs);
    if (request.by.kind !== 'operator') refuseManyToday(tx, owner, 'requested', nowMs);
    const key = tx
      .insert(apiKeys)
      .values({
        ...rest,
        identifier: newIdentifier(deps.random),
        profileId: owner.id,
        state: 'pending',
        requestedPermissions: permissions,
        requestedAt: nowMs,
        successorOf,
      })
      .returning()
      .get();
    const act = { by: request.by, atMs: nowMs };
    storeSearchTexts(tx, owner.id);
    addKeyEvent(tx, key, act, 'requested', successorOf === null ? undefined : { successorOf });
    const { identifier } = key;
    const mailIds = tellAdmins(tx, deps.config, identifier, requestMail, act);
    return { identifier, mailIds, warning: null };
  });
}

// For an owner, always their own profile, even if another one now has its name.
function askingProfile(db: Db, { by, profile, profileId }: Pick<NewRequest, 'by' | 'profile' | 'profileId'>): number {
  if (by.kind === 'owner') return by.profileId;
  return profileId ?? findProfile(db, profile).id;
}

function ownerWithFreeSlot(db: Db | Tx, profileId: number, nowMs: number): Owner {
  const owner = readOwnerById(db, profileId);
  reachableAddress(owner);
  const holders = slotHolders(db, profileId, nowMs);
  if (holders.length < KEYS_PER_PROFILE) return owner;
  const list = holders.map((key) => `${key.identifier} (${key.state}, "${cleanForTerminal(key.name)}")`).join(', ');
  throw new AppError(
    'refused',
    `The profile ${owner.username} has ${KEYS_PER_PROFILE} keys already: ${list}. Withdraw or revoke one first.`,
  );
}

/** Throws if {@link requestKey} would refuse this profile now; called before people fill in the form. */
export function checkProfile({ db, clock }: Pick<Deps, 'db' | 'clock'>, profileId: number): void {
  ownerWithFreeSlot(db, profileId, clock.nowMs());
}

/**
 * Renames a key in any state, unless it has that name. Throws `not_found`, `refused` for an erased key, and `too_many_requests`
 * if the profile's keys were renamed five times today.
 */
export function editKey(deps: Deps, input: { identifier: string; name: string; by: Actor }): Outcome {
  const { identifier, name, by } = input;
  return writeNow(deps, (tx, nowMs) => {
    refuseUnlikeKey(tx, identifier, by);
    const key = readKey(tx, identifier);
    const { profileId } = key;
    refuseErased(identifier, profileId);
    if (key.name === name) return { identifier, mailIds: [], warning: ALREADY_SO };
    if (by.kind !== 'operator') refuseManyToday(tx, readOwnerById(tx, profileId), 'edited', nowMs);
    tx.update(apiKeys).set({ name }).where(eq(apiKeys.identifier, identifier)).run();
    storeSearchTexts(tx, profileId);
    addKeyEvent(tx, key, { by, atMs: nowMs }, 'edited', { nameBefore: key.name, nameAfter: name });
    return { identifier, mailIds: [], warning: null };
  });
}

/** The output of an operation that changes a key. */
export type Outcome = {
  identifier: string;
  /** The ids of the stored mails. The caller decides who sends them. */
  mailIds: readonly number[];
  /** A sentence for the actor if nothing had to be done, or a mail is still waiting; otherwise null. */
  warning: string | null;
  /** The address to which a secret was mailed; only for the approver's terminal. */
  mailedTo?: string;
};

type News = KeyNews & { reason: string | null };

/** The mail to the owner about a move. An approval sends its own. */
const MAIL_OF_MOVE: Partial<Record<Move, (news: News) => Text>> = {
  reject: rejectionMail,
  suspend: suspensionMail,
  resume: resumptionMail,
  revoke: revocationMail,
};

/**
 * Moves a key and notifies the owner, with the reason if there is one, unless it was they who did it. Throws `not_found`,
 * `refused`, `changed_since`, `signed_out`.
 */
export function moveAndNotify(
  deps: Deps,
  move: Exclude<Move, 'approve'>,
  { identifier, reason = null, by }: { identifier: string; reason?: string | null; by: Actor },
): Outcome {
  return writeNow(deps, (tx, nowMs) => {
    const act = { by, atMs: nowMs };
    refuseUnlikeKey(tx, identifier, by);
    moveKey(tx, readKey(tx, identifier), move, act, reason === null ? {} : { detail: { reason } });
    const mail = MAIL_OF_MOVE[move];
    const isTold = mail !== undefined && by.kind !== 'owner';
    const mailIds = isTold ? mailOwner(tx, deps.config, identifier, (news) => mail({ ...news, reason }), act) : [];
    return { identifier, mailIds, warning: null };
  });
}

/**
 * Changes permissions, rate limits or expiry of a key with a secret, and notifies its owner of the old and new values. If
 * nothing differs, it writes nothing, notifies nobody, and the outcome has a warning. Throws `usage` (nothing to change),
 * `not_found`, and `refused` (the key is in another state).
 */
export function changeKey(deps: Deps, input: { identifier: string; change: KeyChange; by: Actor }): Outcome {
  const { identifier, by } = input;
  const { permissions, rateLimits, expiresAtMs } = input.change;
  const grant: NewGrant = {
    ...(permissions && { permissions }),
    ...(rateLimits && { rateLimits }),
    ...(expiresAtMs !== undefined && { expiresAt: expiresAtMs }),
  };
  if (Object.keys(grant).length === 0) {
    throw new AppError('usage', 'Specify what to change: the permissions, the rate limits or the expiry.');
  }
  return writeNow(deps, (tx, nowMs) => {
    const act = { by, atMs: nowMs };
    refuseUnlikeKey(tx, identifier, by);
    const key = readKey(tx, identifier);
    refuseState({ ...key, state: stateAt(key, nowMs) }, SECRET_HOLDERS, 'changed');
    refuseTimePast(grant.expiresAt ?? null, act.atMs);
    const changed = setGrant(tx, key, grant, act);
    if (changed === null) return { identifier, mailIds: [], warning: ALREADY_SO };
    const textOf = (news: KeyNews) => changeMail({ ...news, changes: changed.changes });
    return { identifier, mailIds: mailOwner(tx, deps.config, identifier, textOf, act), warning: null };
  });
}

/** How many keys a profile may request on one day (UTC), and how often its keys may be renamed. */
const MAX_PER_DAY = 5;

const DONE = {
  requested: (times: number) => `requested ${times} keys`,
  edited: (times: number) => `renamed keys ${times} times`,
} as const;

/**
 * Throws `too_many_requests`, with the seconds until the next day, if a profile has reached this limit today. Actions of the
 * operator do not count. Call it in the transaction that acts.
 */
function refuseManyToday(tx: Tx, owner: Pick<Owner, 'id' | 'username'>, event: keyof typeof DONE, nowMs: number): void {
  const todayMs = nowMs - (nowMs % DAY_MS);
  const tomorrowMs = todayMs + DAY_MS;
  const { n } = tx.$client
    .query<{ n: number }, [number, KeyEventName, number, number]>(
      `SELECT count(*) AS n FROM events
       WHERE profile_id = ? AND subject = 'key' AND event = ? AND by_kind <> 'operator' AND at >= ? AND at < ?`,
    )
    .get(owner.id, event, todayMs, tomorrowMs) ?? { n: 0 };
  if (n < MAX_PER_DAY) return;
  throw new AppError(
    'too_many_requests',
    `The profile ${owner.username} has ${DONE[event](MAX_PER_DAY)} today, which is the daily limit. Try again after ${isoTime(tomorrowMs)}.`,
    { retryAfterSeconds: Math.ceil((tomorrowMs - nowMs) / 1000) },
  );
}

// The effects of a change of a profile on its keys, in the same transaction.

/**
 * Handles a change or removal of a profile's e-mail address: voids open attempts to approve its keys, since their mails go to
 * the former address, adds an event to its pending requests, and notifies the former address.
 */
export function noteAddressChange(
  tx: Tx,
  config: MailConfig,
  change: { profileId: number; formerEmail: string },
  act: Act,
): void {
  for (const key of slotHolders(tx, change.profileId, act.atMs)) {
    if (key.state === 'pending') noteOnKey(tx, key, 'address changed', act);
  }
  mailFormerAddress(tx, config, change, act);
}

/**
 * Handles a ban or its end: voids open attempts to approve the profile's keys, and adds an event to each key that has not ended.
 * Keys keep their state; the ban is read from the profile.
 */
export function noteBan(tx: Tx, { profileId, isBanned }: { profileId: number; isBanned: boolean }, act: Act): void {
  const event = isBanned ? 'profile banned' : 'profile unbanned';
  for (const key of slotHolders(tx, profileId, act.atMs)) noteOnKey(tx, key, event, act);
}

function noteOnKey(tx: Tx, key: ApiKey, event: KeyEventName, act: Act): void {
  const { open } = approvable(tx, key);
  if (open !== null) {
    const attemptNumber = key.attemptNumber + 1;
    tx.update(apiKeys).set({ attemptNumber }).where(eq(apiKeys.identifier, key.identifier)).run();
    closeAttempts(tx, key.identifier, 'voided');
  }
  addKeyEvent(tx, key, act, event, open === null ? undefined : { attempt: open.number });
}

/** The reason in the history and in the mail to the owner. */
const LEAKED_REASON =
  'Somebody pasted the secret of this key on the page “Found a secret?”, without signing in, so others may know it.';

/** How many secrets in one piece of text are tried; a leaked file may contain several. */
const MAX_SECRETS = 10;

/** Looked up if the text has no secret, so that the same work is done. No key has this identifier. */
const NO_SECRET = { secret: '', identifier: '--------' };

/**
 * Revokes the keys whose secrets are in a piece of text, at most ten, and notifies their owners, ADMIN_EMAIL and ADMIN_WEBHOOK_URL.
 * Every text causes one write transaction with at least one lookup, and nothing is returned, so that the response does not show
 * which secrets work. Throws `refused` if the database can't be written.
 */
export function revokeLeakedKeys(deps: Deps, text: string): void {
  const found = leakedIn(text);
  write(deps.db, (tx) => {
    const nowMs = deps.clock.nowMs();
    for (const { secret, identifier } of found) {
      const key = tx.select().from(apiKeys).where(eq(apiKeys.identifier, identifier)).get();
      const isRight = secretMatches(secret, key?.secretHash ?? null);
      if (key !== undefined && isRight && hasSecret(stateAt(key, nowMs))) revokeLeakedKey(tx, deps, key, nowMs);
    }
  });
}

function leakedIn(text: string): { secret: string; identifier: string }[] {
  const found = secretsIn(text).flatMap((secret) => {
    const identifier = identifierOfSecret(secret);
    return identifier === null ? [] : [{ secret, identifier }];
  });
  return found.length === 0 ? [NO_SECRET] : found.slice(0, MAX_SECRETS);
}

function revokeLeakedKey(tx: Tx, { config }: Deps, key: ApiKey, nowMs: number): void {
  const act = { by: SERVICE, atMs: nowMs };
  moveKey(tx, key, 'revoke', act, { detail: { reason: LEAKED_REASON } });
  mailOwner(tx, config, key.identifier, (news) => revocationMail({ ...news, reason: LEAKED_REASON }), act);
  tellAdmins(tx, config, key.identifier, exposureMail, act);
}
