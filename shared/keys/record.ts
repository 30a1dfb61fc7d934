import { and, eq, inArray, sql } from 'drizzle-orm';
import type { Actor, Person } from '../actor.ts';
import { type Db, preparedOnce, type Tx } from '../db/connect.ts';
import { apiKeys, type EventData, type KeyEventName, type KeyState, keyAttempts } from '../db/schema.ts';
import { AppError, changedSince } from '../errors.ts';
import { type Act, addEvent } from '../events.ts';
import { isMailAddress } from '../mail/address.ts';
import { findProfile, noSuchProfile, type ProfileRow, profileRevision, readProfileRow } from '../profiles/find.ts';
import { refuseSignedOut } from '../sign-in/sessions.ts';
import { joinWords } from '../text.ts';
import { type Approvable, hasSecret, MOVES, type Move, SLOT_HOLDERS, stateAt } from './key.ts';

/** A row of `api_keys`. */
export type ApiKey = typeof apiKeys.$inferSelect;

/** The parts of a key's profile that the rules about keys depend on. */
export type Owner = Pick<ProfileRow, 'id' | 'username' | 'banned' | 'email'>;

const keyByIdentifier = preparedOnce((db) =>
  db
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.identifier, sql.placeholder('identifier')))
    .prepare(),
);

/** The key with this identifier; with `profileId`, only a key of this profile. Throws `not_found`. */
export function readKey(db: Db | Tx, identifier: string, profileId?: number): ApiKey {
  const key = keyByIdentifier(db).get({ identifier });
  const isSeen = key !== undefined && (profileId === undefined || key.profileId === profileId);
  if (!isSeen) throw noSuchKey();
  return key;
}

/** A row of `key_attempts`. */
export type StoredAttempt = typeof keyAttempts.$inferSelect;

const openAttemptOf = preparedOnce((db) =>
  db
    .select()
    .from(keyAttempts)
    // With a parameter for the condition of the partial index, SQLite would compile the statement again for each key.
    .where(and(eq(keyAttempts.identifier, sql.placeholder('identifier')), sql`${keyAttempts.result} = 'open'`))
    .prepare(),
);

/** The parts of a key that the approval protocol depends on. */
export function approvable(tx: Db | Tx, key: ApiKey): Approvable & { open: StoredAttempt | null } {
  const open = openAttemptOf(tx).get({ identifier: key.identifier });
  return { state: key.state, attemptNumber: key.attemptNumber, open: open ?? null };
}

/** The profile with this id. Throws `not_found`. */
export function readOwnerById(tx: Db | Tx, id: number): Owner {
  const owner = readProfileRow(tx, id);
  if (owner === undefined) throw noSuchProfile();
  return owner;
}

/** The profile of a key or a person; null once it is erased. */
export function readOwner(db: Db | Tx, { profileId }: Pick<ApiKey, 'profileId'>): Owner | null {
  return profileId === null ? null : (readProfileRow(db, profileId) ?? null);
}

/** Throws `refused` if the profile is banned. */
export function refuseBanned(owner: Owner): void {
  if (!owner.banned) return;
  const sentence = `The profile ${owner.username} is banned; its keys can't be requested, renamed or approved.`;
  throw new AppError('refused', sentence);
}

/** The owner's e-mail address. Throws `refused` if the profile is banned or has none. */
export function reachableAddress(owner: Owner): string {
  refuseBanned(owner);
  if (owner.email === null || !isMailAddress(owner.email)) {
    throw new AppError(
      'refused',
      `The profile ${owner.username} has no e-mail address to which a secret could be sent; it needs one first.`,
    );
  }
  return owner.email;
}

/** The keys that use the profile's slots, oldest first. */
export function slotHolders(db: Db | Tx, profileId: number, nowMs: number): ApiKey[] {
  return db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.profileId, profileId), inArray(apiKeys.state, SLOT_HOLDERS)))
    .orderBy(apiKeys.requestedAt, sql`rowid`)
    .all()
    .filter((key) => stateAt(key, nowMs) !== 'expired');
}

/** Appends to a key's history, and draws its revision anew; returns the entry's id. */
export function addKeyEvent(
  tx: Tx,
  { identifier, profileId }: Pick<ApiKey, 'identifier' | 'profileId'>,
  act: Act,
  event: KeyEventName,
  data?: EventData,
): number {
  const isIt = eq(apiKeys.identifier, identifier);
  tx.update(apiKeys).set({ revision: sql`lower(hex(randomblob(8)))` }).where(isIt).run();
  return addEvent(tx, act, { subject: 'key', event, about: identifier, profileId, data });
}

/** Throws `refused` if the key has no profile any more. */
export function refuseErased(identifier: string, profile: string | number | null): asserts profile is string | number {
  if (profile === null) throw new AppError('refused', `Key ${identifier} was erased with its profile.`);
}

/** Throws `refused` if the key is in none of the states `from`; null allows all. */
export function refuseState(
  { identifier, state }: { identifier: string; state: KeyState },
  from: readonly KeyState[] | null,
  event: KeyEventName | null,
): void {
  if (from === null || from.includes(state)) return;
  throw new AppError('refused', `Key ${identifier} is ${state}; only ${joinWords(from, 'and')} keys can be ${event}.`);
}

/**
 * Moves a key and adds the event to its history; returns the entry's id. A move that ends a request or a key also raises the
 * fence, voids an open attempt and deletes the secret's hash. `also` sets more columns. Throws `refused` if the key's state
 * does not allow the move.
 */
export function moveKey(
  tx: Tx,
  key: ApiKey,
  move: Move,
  act: Act,
  more: { detail?: EventData; also?: Partial<ApiKey> } = {},
): number {
  const { from, to, event } = MOVES[move];
  refuseState({ ...key, state: stateAt(key, act.atMs) }, from, event);
  const ending = hasSecret(to) ? {} : { secretHash: null, attemptNumber: key.attemptNumber + 1 };
  const decided = key.decidedAt === null ? { decidedAt: act.atMs } : {};
  tx.update(apiKeys)
    .set({ state: to, ...decided, ...ending, ...more.also })
    .where(eq(apiKeys.identifier, key.identifier))
    .run();
  if (!hasSecret(to)) closeAttempts(tx, key.identifier, 'voided');
  return addKeyEvent(tx, key, act, event, more.detail);
}

/** Closes the key's open attempt, if any, with this result. */
export function closeAttempts(
  tx: Tx,
  identifier: string,
  result: 'accepted' | 'refused' | 'not confirmed' | 'voided',
): void {
  tx.update(keyAttempts)
    .set({ result })
    .where(and(eq(keyAttempts.identifier, identifier), eq(keyAttempts.result, 'open')))
    .run();
}

/** The refusal of an identifier that no key has, or whose key the person may not see. */
export function noSuchKey(): AppError {
  return new AppError('not_found', 'There is no key with this identifier.');
}

/** Throws `not_found` if a key or the profile of the input does not exist, or does not belong to the owner who acts. */
export function checkSight(
  db: Db,
  actor: Person,
  about: { identifier?: unknown; successorOf?: unknown; profile?: unknown; profileId?: unknown },
): void {
  const ownId = actor.kind === 'owner' ? actor.profileId : undefined;
  const isOthers = (profileId: number) => ownId !== undefined && profileId !== ownId;
  // An empty `successorOf` means none, as in `FIELDS`.
  for (const identifier of [about.identifier, about.successorOf || null]) {
    if (typeof identifier === 'string') readKey(db, identifier, ownId);
  }
  if (typeof about.profileId === 'number') {
    if (isOthers(about.profileId)) throw noSuchProfile();
  } else if (typeof about.profile === 'string' && isOthers(findProfile(db, about.profile).id)) throw noSuchProfile();
}

// A decision applies only to what was shown. Each change of a key draws its revision anew (`addKeyEvent`). Pages and commands show
// a key with it, send it back, and the transaction that writes compares.

/**
 * The revision of a key as it is shown: with those of its profile, to which the secret of a request would be mailed, and of the
 * key that a request replaces. Throws `not_found`.
 */
export function keyRevision(db: Db | Tx, identifier: string): string {
  const { revision, state, profileId, successorOf } = readKey(db, identifier);
  if (state !== 'pending') return revision;
  const replaced = successorOf === null ? [] : [readKey(db, successorOf).revision];
  return [revision, profileRevision(db, profileId), ...replaced].join('.');
}

/**
 * Throws `changed_since` if the key has changed since the person was shown it, and `signed_out` if the sign-in of an owner or
 * admin has ended. Call it in the transaction that stores the decision: while that waited for the write lock, an import may
 * have changed the e-mail address.
 */
export function refuseUnlikeKey(db: Db | Tx, identifier: string, by: Actor): void {
  if (by.kind === 'admin' || by.kind === 'owner') refuseSignedOut(db, by);
  if (by.kind === 'service' || by.shown === undefined) return;
  if (by.shown !== keyRevision(db, identifier)) throw changedSince(`Key ${identifier}`);
}
