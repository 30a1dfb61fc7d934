import type { Person } from '../actor.ts';
import type { Deps } from '../deps.ts';
import { faultOf } from '../errors.ts';
import { countKeysBeside, countPending, passes } from '../keys/queue.ts';
import type { QueueFilter } from '../keys/queue-filters.ts';
import { type KeyView, showKey } from '../keys/view.ts';
import { listForPerson } from '../usage/key-list.ts';
import { refuseWithoutMail } from './approve.ts';
import { checkOpenable } from './attempt.ts';

/** A request of the queue. */
export type Queued = {
  key: KeyView;
  /** How many other keys its profile has or had. */
  keysBeside: number;
  /** A sentence on why it can't be approved now, such as another open attempt; null if it can. */
  cantApprove: string | null;
};

/**
 * One page of the queue, the totals of waiting requests and of those that pass the filter, the next page's cursor, or null, and
 * a sentence on why no request can be approved at all, or null.
 */
export type Queue = {
  requests: Queued[];
  waiting: number;
  passing: number;
  next: string | null;
  cantMail: string | null;
};

/** One page: at most `limit` requests after the cursor; with a filter only those that pass it. */
type Part = { limit: number; after?: string | null | undefined; only?: QueueFilter | null | undefined };

/** The requests that are waiting, oldest first. */
export function listQueue(deps: Deps, person: Person, { limit, after, only }: Part): Queue {
  const also = only ? passes(deps.db, only) : undefined;
  const { keys, next } = listForPerson(deps, person, { states: ['pending'], limit, after }, also);
  const waiting = countPending(deps);
  const passing = also === undefined ? waiting : countPending(deps, also);
  const cantMail = faultOf(() => refuseWithoutMail(deps.config));
  return { requests: keys.map((key) => queuedOf(deps, key)), waiting, passing, next, cantMail };
}

/** One request of the queue. Throws `not_found` for an unknown key. */
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
 * Why a request can't be selected together with others, as a sentence. Null if it can: it must be possible to approve
 * it, and its owner's address must be the one for which it was made.
 */
export function choiceFault({ key, cantApprove }: Queued): string | null {
  if (cantApprove !== null || key.addressChangedAt === null) return cantApprove;
  return `The e-mail address of its profile was changed since key ${key.identifier} was requested; decide on it by itself.`;
}
