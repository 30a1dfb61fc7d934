import type { Person } from '../actor.ts';
import type { Deps } from '../deps.ts';
import { faultOf } from '../errors.ts';
import { countKeysBeside, countPending } from '../keys/queue.ts';
import { type KeyView, showKey } from '../keys/view.ts';
import { listForPerson } from '../usage/key-list.ts';
import { checkOpenable } from './attempt.ts';

/** A request of the queue. */
export type Queued = {
  key: KeyView;
  /** How many other keys its profile has or had. */
  keysBeside: number;
  /** A sentence that says why it can't be approved just now, such as another attempt that is open; null where it can. */
  cantApprove: string | null;
};

/** A page of the queue, how many requests are waiting in all, and the cursor at which the queue continues; else null. */
export type Queue = { requests: Queued[]; waiting: number; next: string | null };

/** Which page: at most `limit` requests, those after the cursor. */
type Part = { limit: number; after?: string | null | undefined };

/** The requests that are waiting, oldest first. */
export function listQueue(deps: Deps, person: Person, { limit, after }: Part): Queue {
  const { keys, next } = listForPerson(deps, person, { states: ['pending'], limit, after });
  return { requests: keys.map((key) => queuedOf(deps, key)), waiting: countPending(deps), next };
}

/** One of them. Throws `not_found` for an unknown key. */
export function readQueued(deps: Deps, identifier: string): Queued {
  return queuedOf(deps, showKey(deps, identifier));
}

function queuedOf(deps: Deps, key: KeyView): Queued {
  const { identifier } = key;
  return {
    key,
    keysBeside: countKeysBeside(deps.db, identifier),
    cantApprove: faultOf(() => checkOpenable(deps, identifier)),
  };
}

/**
 * Why a request can't be chosen together with others, as a sentence; null where it can: it must be possible to approve it,
 * and its owner's address must be the one for which it was made.
 */
export function choiceFault({ key, cantApprove }: Queued): string | null {
  if (cantApprove !== null || key.addressChangedAt === null) return cantApprove;
  return `The e-mail address of its profile was changed since key ${key.identifier} was requested; decide on it by itself.`;
}
