import type { Person } from '../actor.ts';
import type { Deps } from '../deps.ts';
import { faultOf } from '../errors.ts';
import { countKeysBeside, countPending, listKeys } from '../keys/list.ts';
import { type KeyView, showKey } from '../keys/view.ts';
import { checkOpenable, refuseWithoutMail } from './approve.ts';

/** A request in the queue. */
export type Queued = {
  key: KeyView;
  /** How many other keys its profile has or had. */
  keysBeside: number;
  /** The error sentence if it can't be approved now, for example because another attempt is open. */
  cantApprove: string | null;
};

type Queue = {
  requests: Queued[];
  /** The number of all pending requests. */
  waiting: number;
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  /** The error sentence if no request can be approved, because no mail can be sent. */
  cantMail: string | null;
};

/** Lists one page of the pending requests, oldest first. */
export function listQueue(deps: Deps, admin: Person, limit: number, after: string | null): Queue {
  const { keys, next } = listKeys(deps, admin, { states: ['pending'], limit, after });
  const waiting = countPending(deps);
  const cantMail = faultOf(() => refuseWithoutMail(deps.config));
  return { requests: keys.map((key) => queuedOf(deps, key)), waiting, next, cantMail };
}

/** Reads one request. Throws `not_found`. */
export function readQueued(deps: Deps, identifier: string): Queued {
  return queuedOf(deps, showKey(deps, identifier));
}

function queuedOf(deps: Deps, key: KeyView): Queued {
  const { identifier } = key;
  return {
    key,
    keysBeside: countKeysBeside(deps, identifier),
    cantApprove: faultOf(() => checkOpenable(deps, identifier)),
  };
}

/**
 * The error sentence if a request can't be selected together with others, otherwise null. It must be possible to approve it, and
 * the profile's e-mail address must not have changed since the request.
 */
export function choiceFault({ key, cantApprove }: Queued): string | null {
  if (cantApprove !== null || key.addressChangedAt === null) return cantApprove;
  return `The e-mail address of the profile has changed since key ${key.identifier} was requested; decide on this key separately.`;
}
