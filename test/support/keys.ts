import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Actor } from '../../shared/actor.ts';
import { beginApproval } from '../../shared/approval/approve.ts';
import { withBusyTimeout } from '../../shared/db/connect.ts';
import type { KeyState } from '../../shared/db/schema.ts';
import type { Deps } from '../../shared/deps.ts';
import { type Grant, KEY_REQUEST, type ListInput, parseInput } from '../../shared/keys/fields.ts';
import { moveAndNotify, requestKey } from '../../shared/keys/life.ts';
import { listKeys } from '../../shared/keys/list.ts';
import { type KeyView, showKey } from '../../shared/keys/view.ts';
import { onBox, type TestClock } from './world.ts';

/** 80 characters: the shortest description. */
export const DESCRIPTION = 'Shows the badges of our members beside their names in the chat of our community.';

type Request = Omit<Parameters<typeof requestKey>[1], 'permissions'> & { permissions: readonly string[] };

/** Requests a key, with defaults for the fields that are not given; returns its identifier. */
export async function request(deps: Deps, fields: Partial<Request> = {}): Promise<string> {
  const plain = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup'] };
  const checked = parseInput(KEY_REQUEST, { ...plain, ...fields });
  return requestKey(deps, { profile: 'user1', by: onBox('owner'), ...fields, ...checked }).identifier;
}

/** Approves a request to its end; returns the address that the secret was mailed to. */
export async function approveKey(deps: Deps, input: { identifier: string; grant: Grant; by: Actor }): Promise<string> {
  const { mailedTo, finish } = await beginApproval(deps, input);
  await finish();
  return mailedTo;
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
export function moveByAdmin(deps: Deps, identifier: string, move: 'suspend' | 'resume', reason = 'Too fast.'): void {
  const decision = { identifier, reason: move === 'suspend' ? reason : null, by: onBox('admin') };
  withBusyTimeout(deps.db.$client, 10_000, () => moveAndNotify(deps, move, decision));
}

/** Makes a new key of a profile and moves it to this state by the usual operations; returns its identifier. */
export async function keyIn(state: KeyState, deps: Deps & { clock: TestClock }, profile: string): Promise<string> {
  const identifier = await request(deps, { profile });
  if (state === 'rejected') await moveAndNotify(deps, 'reject', { identifier, reason: 'No.', by: onBox('admin') });
  if (state === 'withdrawn') moveAndNotify(deps, 'withdraw', { identifier, by: onBox('owner') });
  const isApproved = state === 'Active' || state === 'suspended' || state === 'revoked';
  if (isApproved) await approveKey(deps, { identifier, grant: {}, by: onBox('admin') });
  if (state === 'suspended') moveByAdmin(deps, identifier, 'suspend');
  if (state === 'revoked') await moveAndNotify(deps, 'revoke', { identifier, reason: 'Leaked.', by: onBox('admin') });
  if (state === 'expired') {
    const expiresAtMs = deps.clock.nowMs() + 1000;
    await approveKey({ ...deps, approvalLeaseMs: 0 }, { identifier, grant: { expiresAtMs }, by: onBox('admin') });
    deps.clock.advance(1000);
  }
  if (showKey(deps, identifier).state !== state) throw new Error(`keyIn makes no ${state} keys.`);
  return identifier;
}
