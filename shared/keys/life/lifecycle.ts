import { eq } from 'drizzle-orm';
import type { Actor } from '../../actor.ts';
import type { Db, Tx } from '../../db/connect.ts';
import { apiKeys } from '../../db/schema/keys.ts';
import { writeNow } from '../../db/write.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import { mailOwner, tellAdmins } from '../../mail/outbox.ts';
import { renamingMail, submissionMail } from '../../mail/texts/key-mails.ts';
import { requestMail } from '../../mail/texts/other-mails.ts';
import { findProfile } from '../../profiles/find.ts';
import { refuseUnlikeProfile } from '../../profiles/profile-version.ts';
import { cleanForTerminal } from '../../text.ts';
import type { KeyRequest } from '../fields/input-groups.ts';
import { KEYS_PER_PROFILE } from '../key.ts';
import {
  type ApiKey,
  addKeyEvent,
  moveKey,
  type Owner,
  reachableAddress,
  readKey,
  readOwnerById,
  slotHolders,
} from '../record.ts';
import { refuseUnlikeKey } from '../revision.ts';
import { newIdentifier } from '../secret.ts';
import { refuseManyToday } from './daily-limit.ts';
import { moveAndNotify, type Outcome } from './move.ts';
import { checkSuccession } from './successor.ts';

// Everything in the life of a key except its approval (`shared/approval/`). Each function checks the rules, changes the database
// and stores the mails in one immediate transaction; `shared/mail/outbox.ts` sends them.

type Optional = 'projectUrl' | 'expectedUsage';

/**
 * A validated request for the profile with this username or alias, or with this id if it was already looked up. `successorOf` is
 * the identifier of the key to replace.
 */
type NewRequest = Omit<KeyRequest, Optional> &
  Partial<Pick<KeyRequest, Optional>> & {
    profile: string;
    profileId?: number | null | undefined;
    successorOf?: string | null;
    by: Actor;
  };

/**
 * Requests a key: creates it as pending and notifies `ADMIN_EMAIL`, and the owner unless the operator requested it for them. If
 * the same request of the owner already waits (a form can be sent twice), returns its key and does nothing. Throws `not_found`
 * for the profile, `refused` if it is banned, has no e-mail address or has {@link KEYS_PER_PROFILE} keys, or if the key to
 * replace is not an Active one of the same profile, and `too_many_requests` after five requests on one day.
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
    const owner = ownerWithFreeSlot(tx, readOwnerById(tx, profileId), nowMs);
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
    addKeyEvent(tx, key, act, 'requested', successorOf === null ? undefined : { successorOf });
    const { identifier } = key;
    const sentenceOf = (about: string) => `A request is waiting for a decision: ${about}.`;
    const toAdmins = tellAdmins(tx, deps.config, identifier, { textOf: requestMail, sentenceOf }, act);
    const isOwn = act.by.kind === 'owner';
    const toOwner = isOwn ? mailOwner(tx, deps.config, identifier, submissionMail, act) : [];
    return { identifier, mailIds: [...toAdmins, ...toOwner], warning: null };
  });
}

// For an owner, always their own profile, even if another one now has its name.
function askingProfile(db: Db, { by, profile, profileId }: Pick<NewRequest, 'by' | 'profile' | 'profileId'>): number {
  if (by.kind === 'owner') return by.profileId;
  return profileId ?? findProfile(db, profile).id;
}

function ownerWithFreeSlot(db: Db | Tx, owner: Owner, nowMs: number): Owner {
  reachableAddress(owner);
  const holders = slotHolders(db, owner.id, nowMs);
  if (holders.length >= KEYS_PER_PROFILE) throw noSlotLeft(owner, holders);
  return owner;
}

/** Throws if {@link requestKey} would refuse this profile now; called before people fill in the form. */
export function checkProfile({ db, clock }: Pick<Deps, 'db' | 'clock'>, profileId: number): void {
  ownerWithFreeSlot(db, readOwnerById(db, profileId), clock.nowMs());
}

function noSlotLeft(owner: Owner, holders: readonly ApiKey[]): AppError {
  const list = holders.map((key) => `${key.identifier} (${key.state}, "${cleanForTerminal(key.name)}")`).join(', ');
  return new AppError(
    'refused',
    `The profile ${owner.username} has ${KEYS_PER_PROFILE} keys already: ${list}. Withdraw or revoke one first.`,
  );
}

/** Rejects a pending request; the owner gets the reason by mail. Throws `not_found`, `refused`. */
export function rejectKey(deps: Deps, input: { identifier: string; reason: string; by: Actor }): Outcome {
  return moveAndNotify(deps, 'reject', input);
}

/** Revokes a key that has a secret; the owner gets the reason, if any, by mail. Throws `not_found`, `refused`. */
export function revokeKey(deps: Deps, input: { identifier: string; reason: string | null; by: Actor }): Outcome {
  return moveAndNotify(deps, 'revoke', input);
}

/** Withdraws a pending request. Throws `not_found`, `refused`. */
export function withdrawKey(deps: Deps, { identifier, by }: { identifier: string; by: Actor }): Outcome {
  writeNow(deps, (tx, nowMs) => {
    refuseUnlikeKey(tx, identifier, by);
    moveKey(tx, readKey(tx, identifier), 'withdraw', { by, atMs: nowMs });
  });
  return { identifier, mailIds: [], warning: null };
}

/**
 * Renames a key in any state, and notifies the owner unless the operator did it for them. Throws `not_found`, `refused` for an
 * erased key, and `too_many_requests` if the profile's keys were renamed five times today.
 */
export function editKey(deps: Deps, input: { identifier: string; name: string; by: Actor }): Outcome {
  const { identifier, name, by } = input;
  return writeNow(deps, (tx, nowMs) => {
    refuseUnlikeKey(tx, identifier, by);
    const key = readKey(tx, identifier);
    if (key.profileId === null) throw new AppError('refused', `Key ${identifier} was erased with its profile.`);
    if (by.kind !== 'operator') refuseManyToday(tx, readOwnerById(tx, key.profileId), 'edited', nowMs);
    tx.update(apiKeys).set({ name }).where(eq(apiKeys.identifier, identifier)).run();
    const detail = { nameBefore: key.name, nameAfter: name };
    const act = { by, atMs: nowMs };
    addKeyEvent(tx, key, act, 'edited', detail);
    const isOwn = by.kind === 'owner';
    const mailIds = isOwn
      ? mailOwner(tx, deps.config, identifier, (news) => renamingMail({ ...news, ...detail }), act)
      : [];
    return { identifier, mailIds, warning: null };
  });
}
