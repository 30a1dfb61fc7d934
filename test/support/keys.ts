import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beginApproval } from '../../shared/approval/approve.ts';
import { withBusyTimeout } from '../../shared/db/connect.ts';
import { KEY_STATES, type KeyState, type StoredState } from '../../shared/db/schema.ts';
import type { Deps } from '../../shared/deps.ts';
import { type Grant, KEY_REQUEST, type ListInput, parseInput } from '../../shared/keys/fields.ts';
import { hasEnded, KEYS_PER_PROFILE, MOVE_NAMES, MOVES, type Move, SLOT_HOLDERS } from '../../shared/keys/key.ts';
import { moveAndNotify, requestKey } from '../../shared/keys/life.ts';
import { listKeys } from '../../shared/keys/list.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import { parseRateLimit } from '../../shared/limits/rate-limit.ts';
import type { AnyOperation } from '../../shared/operations/entry.ts';
import { OPERATIONS, performWhole } from '../../shared/operations.ts';
import { SUBJECT } from '../server/routes.ts';
import { insertProfile } from './profiles.ts';
import { onBox, type TestClock } from './world.ts';

/** 80 characters: the shortest description. */
export const DESCRIPTION = 'Shows the badges of our members beside their names in the chat of our community.';

/** A value of each input of the operations on keys, but those that say which key or profile. */
export const INPUT_SAMPLES: Readonly<Record<string, unknown>> = {
  name: 'Renamed',
  description: DESCRIPTION,
  permissions: ['api.lookup'],
  projectUrl: 'https://example.org/badges',
  expectedUsage: 'A few a minute.',
  rateLimits: [{ quota: 7, windowSeconds: 60 }],
  reason: 'Please write to us.',
  days: 1,
};

type Request = Omit<Parameters<typeof requestKey>[1], 'permissions'> & { permissions: readonly string[] };

/** Requests a key, with defaults for the fields that are not given; returns its identifier. */
export async function request(deps: Deps, fields: Partial<Request> = {}): Promise<string> {
  const plain = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup'] };
  const checked = parseInput(KEY_REQUEST, { ...plain, ...fields });
  return requestKey(deps, { profile: 'user1', by: onBox('owner'), ...fields, ...checked }).identifier;
}

/** Approves a request to its end. */
export async function approveKey(deps: Deps, input: Parameters<typeof beginApproval>[1]): Promise<void> {
  await (await beginApproval(deps, input)).finish();
}

/** The same dependencies, but `others` runs while the first transaction after `isTime()` waits for the write lock. */
export function waitingWhile<World extends Deps>(deps: World, others: () => void, isTime = () => true): World {
  const { $client } = deps.db;
  let isDone = false;
  const client = new Proxy($client, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) => {
        const begins = name === 'transaction' || given[0] === 'BEGIN IMMEDIATE';
        if (begins && !isDone && isTime()) {
          isDone = true;
          others();
        }
        return Reflect.apply(member, target, given);
      };
    },
  });
  return { ...deps, db: Object.create(deps.db, { $client: { value: client } }) };
}

/** Requests a key and approves it, without a lease, so that it can expire at once; returns its identifier and mailed secret. */
export async function issue(deps: Deps, fields: Partial<Request> = {}, grant: Grant = {}) {
  const identifier = await request(deps, fields);
  await approveKey({ ...deps, approvalLeaseMs: 0 }, { identifier, grant, by: onBox('admin') });
  return { identifier, secret: mailedSecrets(deps, identifier).at(-1) ?? '' };
}

/** The keys that `keys list` shows the operator. */
export function keysListed(deps: Pick<Deps, 'db' | 'clock'>, filter: ListInput = {}): KeyView[] {
  return listKeys(deps, onBox('operator'), filter).keys;
}

/** The mails in the folder of `MAIL_URL`, oldest first: all, or those about the key with this identifier. */
export function mails(deps: Deps, identifier = ''): string[] {
  const target = deps.config.mail;
  if (target?.kind !== 'folder' || !existsSync(target.folder)) return [];
  // Another process may be writing a mail, under a temporary name.
  const names = readdirSync(target.folder).filter((name) => name.endsWith(`${identifier}.eml`));
  return names.sort().map((name) => readFileSync(join(target.folder, name), 'utf8'));
}

/** All secrets mailed for a key, oldest first. */
export function mailedSecrets(deps: Deps, identifier: string): string[] {
  const secret = new RegExp(`plk_${identifier}_[0-9A-Za-z]{38}`, 'g');
  return [...new Set(mails(deps, identifier).flatMap((mail) => mail.match(secret) ?? []))];
}

/** Suspends or resumes a key as an admin, and stores the mail to its owner. Like a command, it waits for the lock for long. */
export function moveByAdmin(deps: Deps, identifier: string, move: 'suspend' | 'resume'): void {
  const decision = { identifier, reason: move === 'suspend' ? 'Too fast.' : null, by: onBox('admin') };
  withBusyTimeout(deps.db.$client, 10_000, () => moveAndNotify(deps, move, decision));
}

/** The states of keys, as many as one profile can have keys in, in an order in which it can be given them. */
export const STATES_OF_ONE: readonly KeyState[] = [
  ...KEY_STATES.filter(hasEnded),
  ...SLOT_HOLDERS.slice(0, KEYS_PER_PROFILE).toReversed(),
];

/** Makes a new key of a profile and moves it to this state by the usual operations; returns its identifier. */
export async function keyIn(state: KeyState, deps: Deps & { clock: TestClock }, profile: string): Promise<string> {
  const identifier = await request(deps, { profile });
  const grant = state === 'expired' ? { expiresAtMs: deps.clock.nowMs() + 1000 } : {};
  for (const move of movesTo(state === 'expired' ? 'Active' : state)) {
    const input = { identifier, reason: INPUT_SAMPLES.reason, ...grant };
    await performWhole({ ...deps, approvalLeaseMs: 0 }, onBox('admin'), OPERATIONS[move] as AnyOperation, input);
  }
  if (state === 'expired') deps.clock.advance(1000);
  return identifier;
}

/** The moves that lead from a request to a state. */
function movesTo(state: StoredState): Move[] {
  if (state === 'pending') return [];
  const last = MOVE_NAMES.find((move) => MOVES[move].to === state) as Move;
  return [...movesTo(MOVES[last].from[0]), last];
}

/** Inserts the subject, and a key with both permissions and ample limits; returns its secret. */
export async function prepare(deps: Deps): Promise<string> {
  insertProfile(deps.db, { ...SUBJECT, aliases: ['lovelace'] });
  return (await keyFor(deps, ['1000000/1s'])).secret;
}

let holders = 1_000_000;

/** Issues a key of a new profile with these rate limits and, by default, both permissions. */
export function keyFor(deps: Deps, rateLimits: readonly string[], permissions = ['api.lookup', 'api.leaderboard']) {
  const profile = `user${insertProfile(deps.db, { id: ++holders })}`;
  return issue(deps, { profile, permissions }, { rateLimits: rateLimits.map(parseRateLimit) });
}
