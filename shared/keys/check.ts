import { and, asc, count, eq, gt, inArray, isNotNull, isNull, or, sql } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import type { KeyState } from '../db/key-columns.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { apiKeys, keyAttempts, keyEvents } from '../db/schema/keys.ts';
import { AppError } from '../errors.ts';
import { FIELDS } from './fields/inputs.ts';
import { parseInput } from './fields/parse-input.ts';
import { canMove, hasSecret, KEYS_PER_PROFILE, MOVES, type Move, SLOT_HOLDERS } from './key.ts';

const KEYS_PER_QUERY = 1_000;

// JSON is read as text, since it may be invalid.

function selectKeys(db: Db, afterRow: number) {
  const row = sql<number>`rowid`;
  return db
    .select({
      row,
      identifier: apiKeys.identifier,
      state: apiKeys.state,
      attemptNumber: apiKeys.attemptNumber,
      requestedPermissions: sql<string>`${apiKeys.requestedPermissions}`,
      permissions: sql<string | null>`${apiKeys.permissions}`,
      rateLimits: sql<string | null>`${apiKeys.rateLimits}`,
    })
    .from(apiKeys)
    .where(gt(row, afterRow))
    .orderBy(asc(row))
    .limit(KEYS_PER_QUERY);
}

const eventsOf = keepQuery((db) =>
  db
    .select({
      event: keyEvents.event,
      fromState: keyEvents.fromState,
      toState: keyEvents.toState,
      detail: sql<string | null>`${keyEvents.detail}`,
    })
    .from(keyEvents)
    .where(eq(keyEvents.identifier, sql.placeholder('identifier')))
    .orderBy(asc(keyEvents.id))
    .prepare(),
);

const attemptsOf = keepQuery((db) =>
  db
    .select({
      number: keyAttempts.number,
      result: keyAttempts.result,
      permissions: sql<string>`${keyAttempts.permissions}`,
      rateLimits: sql<string>`${keyAttempts.rateLimits}`,
    })
    .from(keyAttempts)
    .where(eq(keyAttempts.identifier, sql.placeholder('identifier')))
    .prepare(),
);

type Key = ReturnType<ReturnType<typeof selectKeys>['all']>[number];
type Event = ReturnType<ReturnType<typeof eventsOf>['all']>[number];
type Attempt = ReturnType<ReturnType<typeof attemptsOf>['all']>[number];

/**
 * Yields a clause for each fault in stored keys that the schema does not forbid: too many keys of a profile, a gap in a
 * history, a key with a secret but without an accepted attempt that has its fence number, invalid JSON.
 */
export function* keyFaults(db: Db): Generator<string> {
  yield* slotFaults(db);
  for (let keys = selectKeys(db, 0).all(); keys.length > 0; keys = selectKeys(db, keys.at(-1)?.row ?? 0).all()) {
    for (const key of keys) {
      const faults = [
        ...historyFaults(key, eventsOf(db).all(key)),
        ...attemptFaults(key, attemptsOf(db).all(key)),
        ...valueFaults(key),
      ];
      for (const fault of faults) yield `key ${key.identifier}: ${fault}`;
    }
  }
}

// A key that had expired when the newest one was requested used no slot, even if its expiry is not stored yet.
function slotFaults(db: Db): string[] {
  const { profileId, expiresAt, requestedAt, state } = apiKeys;
  const newestAt = sql<number>`max(${requestedAt}) OVER (PARTITION BY ${profileId})`.as('newest_at');
  const holders = db
    .select({ profileId, expiresAt, newestAt })
    .from(apiKeys)
    .where(and(inArray(state, SLOT_HOLDERS), isNotNull(profileId)))
    .as('holders');
  const crowded = db
    .select({ id: holders.profileId, held: count() })
    .from(holders)
    .where(or(isNull(holders.expiresAt), gt(holders.expiresAt, holders.newestAt)))
    .groupBy(holders.profileId)
    .having(gt(count(), KEYS_PER_PROFILE))
    .all();
  return crowded.map(
    ({ id, held }) =>
      `profile ${id}: ${held} keys are pending, Active or suspended, but only ${KEYS_PER_PROFILE} may be`,
  );
}

function historyFaults(key: Key, events: readonly Event[]): string[] {
  const [first] = events;
  if (first === undefined) return ['it has no history'];
  const faults: string[] = [];
  if (first.event !== 'requested' || first.fromState !== null || first.toState !== 'pending') {
    faults.push('its history does not begin with the request');
  }
  if (events.at(-1)?.toState !== key.state) faults.push(`its history does not end in ${key.state}`);
  if (events.some((event, index) => index > 0 && !follows(event, events[index - 1]?.toState))) {
    faults.push('its history has a gap');
  }
  if (events.some(({ detail }) => detail !== null && !isJson(detail))) faults.push('its history holds invalid JSON');
  return faults;
}

function follows({ fromState, toState }: Event, before: KeyState | undefined): boolean {
  if (fromState === null || fromState !== before) return false;
  if (fromState === toState) return true;
  return (Object.keys(MOVES) as Move[]).some((move) => canMove(fromState, move) && MOVES[move].to === toState);
}

const AFTER_APPROVAL: readonly KeyState[] = Object.values(MOVES)
  .filter(({ from }) => from.some(hasSecret))
  .map(({ to }) => to);

function attemptFaults(key: Key, attempts: readonly Attempt[]): string[] {
  const faults: string[] = [];
  const accepted = attempts.filter(({ result }) => result === 'accepted');
  if (hasSecret(key.state) && !accepted.some(({ number }) => number === key.attemptNumber)) {
    faults.push(`it is ${key.state}, but no accepted attempt has its fence number`);
  }
  if (accepted.length > 0 && !AFTER_APPROVAL.includes(key.state)) {
    faults.push(`an attempt was accepted, but it is ${key.state}`);
  }
  if (key.state !== 'pending' && attempts.some(({ result }) => result === 'open')) {
    faults.push(`an attempt is open, but it is ${key.state}`);
  }
  if (attempts.some(({ number }) => number > key.attemptNumber)) faults.push('an attempt is ahead of its fence number');
  for (const { number, permissions, rateLimits } of attempts) {
    if (!isGrant(permissions, rateLimits)) faults.push(`attempt ${number} has invalid permissions or rate limits`);
  }
  return faults;
}

function valueFaults(key: Key): string[] {
  const faults: string[] = [];
  if (!isPermissions(key.requestedPermissions)) faults.push('its requested permissions are invalid');
  if (key.permissions === null && key.rateLimits === null) return faults;
  if (!isGrant(key.permissions ?? '', key.rateLimits ?? '')) faults.push('its permissions or rate limits are invalid');
  return faults;
}

function isGrant(permissions: string, rateLimits: string): boolean {
  return isPermissions(permissions) && holds(rateLimits, (value) => parseInput(FIELDS.rateLimits, value));
}

function isPermissions(text: string): boolean {
  return holds(text, (value) => parseInput(FIELDS.permissions, value));
}

function isJson(text: string): boolean {
  return holds(text, () => undefined);
}

/** Whether a string is JSON whose value passes a rule; the rule throws if it does not. */
function holds(text: string, rule: (value: unknown) => unknown): boolean {
  try {
    rule(JSON.parse(text));
    return true;
  } catch (error) {
    if (error instanceof AppError || error instanceof SyntaxError || error instanceof TypeError) return false;
    throw error;
  }
}
