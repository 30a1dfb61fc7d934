import type { Actor } from '../../actor.ts';
import { writeNow } from '../../db/write.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import { type KeyNews, mailOwner } from '../../mail/outbox.ts';
import { changeMail } from '../../mail/texts/key-mails.ts';
import { refuseTimePast } from '../expiry.ts';
import type { KeyChange } from '../fields/input-groups.ts';
import { SECRET_HOLDERS, stateAt } from '../key.ts';
import { type ApiKey, readKey, refuseState } from '../record.ts';
import { refuseUnlikeKey } from '../revision.ts';
import { ALREADY_SO } from './differing.ts';
import { type NewGrant, setGrant } from './grant.ts';
import type { Outcome } from './move.ts';

/**
 * Changes permissions, rate limits or expiry of an Active or suspended key, and notifies its owner of the old and new values. If
 * nothing differs, it writes nothing, notifies nobody, and the outcome has a warning. Throws `usage` (nothing to change),
 * `not_found`, and `refused` (the key is in another state).
 */
export function changeKey(deps: Deps, input: { identifier: string; change: KeyChange; by: Actor }): Outcome {
  const { identifier, by } = input;
  const grant = checkChange(input.change);
  return writeNow(deps, (tx, nowMs) => {
    const act = { by, atMs: nowMs };
    refuseUnlikeKey(tx, identifier, by);
    const key = requireChangeable(readKey(tx, identifier), act.atMs);
    refuseTimePast(grant.expiresAt ?? null, act.atMs);
    const changed = setGrant(tx, key, grant, act);
    if (changed === null) return { identifier, mailIds: [], warning: ALREADY_SO };
    const textOf = (news: KeyNews) => changeMail({ ...news, changes: changed.changes });
    return { identifier, mailIds: mailOwner(tx, deps.config, identifier, textOf, act), warning: null };
  });
}

/** Converts a change to its stored form. Throws `usage` if it is empty. */
export function checkChange({ permissions, rateLimits, expiresAtMs }: KeyChange): NewGrant {
  const grant: NewGrant = {};
  if (permissions) grant.permissions = permissions;
  if (rateLimits) grant.rateLimits = rateLimits;
  if (expiresAtMs !== undefined) grant.expiresAt = expiresAtMs;
  if (Object.keys(grant).length > 0) return grant;
  throw new AppError('usage', 'Specify what to change: the permissions, the rate limits or the expiry.');
}

function requireChangeable(key: ApiKey, nowMs: number): ApiKey {
  refuseState({ ...key, state: stateAt(key, nowMs) }, SECRET_HOLDERS, 'changed');
  return key;
}
