import { eq } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import type { Db, Tx } from '../db/connect.ts';
import { apiKeys } from '../db/schema.ts';
import { write } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import type { Mail } from '../mail/mail.ts';
import { cleanForTerminal } from '../text.ts';
import { expireKeys } from './expire.ts';
import { type CheckedKeyRequest, checkKeyRequest, checkText, type KeyRequestFields, TEXT_RULES } from './fields.ts';
import { KEYS_PER_PROFILE, type Move } from './key.ts';
import {
  type ApiKey,
  addEvent,
  moveKey,
  type Owner,
  placeHolders,
  reachableAddress,
  readKey,
  readOwner,
  readOwnerById,
  readOwnerByName,
} from './record.ts';
import { newIdentifier } from './secret.ts';
import { checkSuccession } from './successor.ts';

// The life of a key but for its approval, which is in approve.ts. Each function checks the rules itself and changes the
// database in one immediate transaction; a notice that can't be delivered is reported and blocks nothing.

/** What a step leaves behind: the key it was about, and a sentence where somebody should have been told and was not. */
export type Outcome = { identifier: string; warning: string | null };

/**
 * Asks for a key: pending from now on, and `ADMIN_EMAIL` is told. Throws `usage` for a text that breaks its rule,
 * `not_found` for the profile, `refused` where it is banned, can't be reached or has three keys already. `successorOf` is
 * the identifier of the key that it is to replace: `refused` unless that is an Active one of the same profile.
 */
export async function requestKey(
  deps: Deps,
  request: KeyRequestFields & { profile: string; successorOf?: string | null | undefined; by: Actor },
): Promise<Outcome> {
  const fields = checkKeyRequest(request);
  const successorOf = request.successorOf ?? null;
  const nowMs = deps.clock.nowMs();
  expireKeys(deps.db, nowMs);
  const { key, owner } = write(deps.db, (tx) => {
    const owner = ownerWithPlace(tx, askingProfile(tx, request.by, request.profile));
    if (successorOf !== null) checkSuccession(tx, successorOf, owner, nowMs);
    const { permissions, ...texts } = fields;
    const key = tx
      .insert(apiKeys)
      .values({
        ...texts,
        identifier: newIdentifier(deps.random),
        profileId: owner.id,
        state: 'pending',
        requestedPermissions: permissions,
        requestedAt: nowMs,
        successorOf,
      })
      .returning()
      .get();
    const detail = successorOf === null ? {} : { detail: { successorOf } };
    const act = { by: request.by, atMs: nowMs };
    addEvent(tx, key, act, { event: 'requested', fromState: null, toState: 'pending', ...detail });
    return { key, owner };
  });
  return { identifier: key.identifier, warning: await tellAdmin(deps, key, owner, fields) };
}

/** Who the key is for: owners ask for their own profile, even if its name has just been given to another one. */
function askingProfile(tx: Tx, by: Actor, profile: string): Owner {
  return by.kind === 'owner' ? readOwnerById(tx, by.profileId) : readOwnerByName(tx, profile);
}

function ownerWithPlace(tx: Db | Tx, owner: Owner): Owner {
  reachableAddress(owner);
  const holders = placeHolders(tx, owner.id);
  if (holders.length >= KEYS_PER_PROFILE) throw noPlaceLeft(owner, holders);
  return owner;
}

/** Throws what {@link requestKey} would throw for this profile just now: for telling before everything is typed. */
export function checkProfile(deps: Deps, profile: string): void {
  expireKeys(deps.db, deps.clock.nowMs());
  ownerWithPlace(deps.db, readOwnerByName(deps.db, profile));
}

function noPlaceLeft(owner: Owner, holders: readonly ApiKey[]): AppError {
  const list = holders.map((key) => `${key.identifier} (${key.state}, "${cleanForTerminal(key.name)}")`).join(', ');
  return new AppError(
    'refused',
    `The profile ${owner.username} has ${KEYS_PER_PROFILE} keys already: ${list}. Withdraw or revoke one first.`,
  );
}

/** Rejects a pending request with a reason, which is mailed to the owner. Throws `usage`, `not_found`, `refused`. */
export async function rejectKey(
  deps: Deps,
  input: { identifier: string; reason: string; by: Actor },
): Promise<Outcome> {
  return endWithReason(deps, 'reject', input);
}

/**
 * Revokes an Active key with a reason, which is mailed to the owner; only owners may leave it out. Throws `usage`,
 * `not_found`, `refused`.
 */
export async function revokeKey(
  deps: Deps,
  input: { identifier: string; reason?: string | null; by: Actor },
): Promise<Outcome> {
  return endWithReason(deps, 'revoke', input);
}

async function endWithReason(
  deps: Deps,
  move: 'reject' | 'revoke',
  input: { identifier: string; reason?: string | null; by: Actor },
): Promise<Outcome> {
  const given = input.reason ?? '';
  const isLeftOut = move === 'revoke' && input.by.kind === 'owner' && given.trim() === '';
  const reason = isLeftOut ? null : checkText(TEXT_RULES.reason, given);
  const key = endKey(deps, input.identifier, move, input.by, reason === null ? {} : { reason });
  const to = readOwner(deps.db, key)?.email ?? null;
  const { rejectionMail, revocationMail } = await import('./mails.ts');
  const compose = move === 'reject' ? rejectionMail : revocationMail;
  const { identifier } = key;
  const warning = await notify(deps, to, (address) =>
    compose({ to: address, identifier, keyName: key.name, reason, publicUrl: deps.config.publicUrl }),
  );
  return { identifier, warning };
}

/** Takes back a pending request. Throws `not_found`, `refused`. */
export function withdrawKey(deps: Deps, input: { identifier: string; by: Actor }): Outcome {
  endKey(deps, input.identifier, 'withdraw', input.by, {});
  return { identifier: input.identifier, warning: null };
}

/** Renames a key in any state; nothing else of it can be edited. Throws `usage`, `not_found`, `refused` when erased. */
export function editKey(deps: Deps, input: { identifier: string; name: string; by: Actor }): Outcome {
  const name = checkText(TEXT_RULES.name, input.name);
  const nowMs = deps.clock.nowMs();
  expireKeys(deps.db, nowMs, input.identifier);
  write(deps.db, (tx) => {
    const key = readKey(tx, input.identifier);
    if (key.profileId === null) throw new AppError('refused', `Key ${key.identifier} was erased with its profile.`);
    tx.update(apiKeys).set({ name }).where(eq(apiKeys.identifier, key.identifier)).run();
    const detail = { nameBefore: key.name, nameAfter: name };
    const act = { by: input.by, atMs: nowMs };
    addEvent(tx, key, act, { event: 'edited', fromState: key.state, toState: key.state, detail });
  });
  return { identifier: input.identifier, warning: null };
}

function endKey(deps: Deps, identifier: string, move: Move, by: Actor, detail: { reason?: string }): ApiKey {
  const nowMs = deps.clock.nowMs();
  expireKeys(deps.db, nowMs, identifier);
  return write(deps.db, (tx) => {
    const key = readKey(tx, identifier);
    moveKey(tx, key, move, { by, atMs: nowMs }, detail.reason === undefined ? {} : { detail });
    return key;
  });
}

async function tellAdmin(
  deps: Deps,
  { identifier, successorOf }: ApiKey,
  owner: Owner,
  fields: CheckedKeyRequest,
): Promise<string | null> {
  const to = deps.config.adminEmail;
  if (to === null) return null;
  const { requestMail } = await import('./mails.ts');
  const { name: keyName, permissions: requestedPermissions, ...rest } = fields;
  return notify(deps, to, (address) =>
    requestMail({
      to: address,
      identifier,
      successorOf,
      profile: owner.username,
      keyName,
      requestedPermissions,
      ...rest,
    }),
  );
}

/** Mails somebody what happened to a key. Returns null, or a sentence that says why nobody was told; never throws. */
export async function notify(
  deps: Deps,
  to: string | null,
  compose: (address: string) => Mail,
): Promise<string | null> {
  if (to === null) return 'Nobody was told: the profile has no e-mail address.';
  const mailer = await deps.mailer();
  if (mailer === null) return 'Nobody was told: MAIL_URL is not set.';
  const delivery = await mailer.send(compose(to));
  return delivery.outcome === 'accepted' ? null : `The notice was not delivered. ${delivery.reason}`;
}
