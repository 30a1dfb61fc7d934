import type { Sqlite } from '../db/connect.ts';
import type { KeyState } from '../db/key-columns.ts';
import { AppError } from '../errors.ts';
import { FIELDS } from './inputs.ts';
import { canMove, hasSecret, KEYS_PER_PROFILE, MOVES, type Move, PLACE_HOLDERS, SECRET_HOLDERS } from './key.ts';
import { parseInput } from './parse-input.ts';

type Key = {
  identifier: string;
  state: KeyState;
  attemptNumber: number;
  requestedPermissions: string;
  permissions: string | null;
  rateLimits: string | null;
};
type Event = { event: string; fromState: KeyState | null; toState: KeyState; detail: string | null };
type Attempt = { number: number; result: string; permissions: string; rateLimits: string };

/**
 * What is wrong with stored keys beyond what the schema forbids, a clause a fault: more than three that hold a place, a
 * history with a gap, a key with a secret without the accepted attempt that its fence names, JSON that is none.
 */
export function* keyFaults(sqlite: Sqlite): Generator<string> {
  yield* placeFaults(sqlite);
  const events = sqlite.prepare<Event, [string]>(
    `SELECT event, from_state AS fromState, to_state AS toState, detail FROM key_events WHERE identifier = ? ORDER BY id`,
  );
  const attempts = sqlite.prepare<Attempt, [string]>(
    'SELECT number, result, permissions, rate_limits AS rateLimits FROM key_attempts WHERE identifier = ?',
  );
  const keys = sqlite.prepare<Key, []>(
    `SELECT identifier, state, attempt_number AS attemptNumber, requested_permissions AS requestedPermissions,
       permissions, rate_limits AS rateLimits FROM api_keys`,
  );
  for (const key of keys.iterate()) {
    const own = [
      ...historyFaults(key, events.all(key.identifier)),
      ...attemptFaults(key, attempts.all(key.identifier)),
      ...valueFaults(key),
    ];
    for (const fault of own) yield `key ${key.identifier}: ${fault}`;
  }
}

/** A key that had expired when the newest one was requested held no place; that may not be stored yet. */
function placeFaults(sqlite: Sqlite): string[] {
  const crowded = sqlite
    .prepare<{ id: number; held: number }, [string, number]>(
      `SELECT profile_id AS id, count(*) AS held FROM (
         SELECT profile_id, expires_at, max(requested_at) OVER (PARTITION BY profile_id) AS newest_at FROM api_keys
           WHERE state IN (SELECT value FROM json_each(?)) AND profile_id IS NOT NULL)
         WHERE expires_at IS NULL OR expires_at > newest_at GROUP BY profile_id HAVING count(*) > ?`,
    )
    .all(JSON.stringify(PLACE_HOLDERS), KEYS_PER_PROFILE);
  return crowded.map(({ id, held }) => `profile ${id}: ${held} keys hold a place, of ${KEYS_PER_PROFILE} that may`);
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

/** Whether an event goes on from the state before it, and by a move that there is. */
function follows({ fromState, toState }: Event, before: KeyState | undefined): boolean {
  if (fromState === null || fromState !== before) return false;
  if (fromState === toState) return true;
  return (Object.keys(MOVES) as Move[]).some((move) => canMove(fromState, move) && MOVES[move].to === toState);
}

/** The states of keys that were approved. */
const AFTER_APPROVAL: readonly KeyState[] = [...SECRET_HOLDERS, 'revoked', 'expired'];

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
    if (!isGrant(permissions, rateLimits))
      faults.push(`attempt ${number} holds permissions or rate limits that are none`);
  }
  return faults;
}

function valueFaults(key: Key): string[] {
  const faults: string[] = [];
  if (!isPermissions(key.requestedPermissions)) faults.push('its requested permissions are none');
  if (key.permissions === null && key.rateLimits === null) return faults;
  if (!isGrant(key.permissions ?? '', key.rateLimits ?? '')) faults.push('its permissions or rate limits are none');
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

/** Whether a text is JSON whose value passes the product's own rule. */
function holds(text: string, rule: (value: unknown) => unknown): boolean {
  try {
    rule(JSON.parse(text));
    return true;
  } catch (error) {
    if (error instanceof AppError || error instanceof SyntaxError || error instanceof TypeError) return false;
    throw error;
  }
}
