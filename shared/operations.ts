import type { Person } from './actor.ts';
import type { Deps } from './deps.ts';
import { AppError } from './errors.ts';
import type { Outcome } from './keys/life/move.ts';
import { readOwnerById, refuseBanned } from './keys/record.ts';
import { checkSight } from './keys/sight.ts';
import {
  type AnyOperation,
  type Operation,
  type OwnerPage,
  refuseKind,
  type Unfinished,
  type Who,
} from './operations/entry.ts';
import { change, resume, revoke, suspend } from './operations/issued.ts';
import { list, nextPending, queue, queuePlace, show, usage } from './operations/looks.ts';
import { edit, request, withdraw } from './operations/owners.ts';
import { approve, reject } from './operations/requests.ts';

/** The table: every operation on keys, who may do it, what it needs, what is said of it and what it does. */
export const OPERATIONS = {
  ...{ request, list, queue, queuePlace, nextPending, show, usage, edit, withdraw },
  ...{ approve, reject, change, suspend, resume, revoke },
};

/** All of them, for doors that are loops over the table. */
export const ALL_OPERATIONS: readonly AnyOperation[] = Object.values<AnyOperation>(OPERATIONS);

/** Those that admins decide on the page of the key, each by an assertion. */
export const DECISIONS: readonly AnyOperation[] = ALL_OPERATIONS.filter(({ doors }) => doors.page === 'decision');

/** Those of them that are about requests, which the queue offers too. */
export const REQUEST_DECISIONS: readonly AnyOperation[] = DECISIONS.filter(({ from }) => from?.includes('pending'));

/** Those that owners do from the page of a key of theirs, each with its page. */
export const OWNERS_ACTIONS: readonly (readonly [AnyOperation, OwnerPage])[] = ALL_OPERATIONS.flatMap((operation) =>
  operation.doors.ownerPage === undefined ? [] : [[operation, operation.doors.ownerPage] as const],
);

/**
 * Lets a person do something. Checked in this order: may this kind of person do it at all (`forbidden`, whatever the
 * input is about); do they see this key or profile (`not_found`, with the sentence for one that does not exist); is the
 * input as it must be (`usage`); then the operation's own rules. An approval is only begun: who calls this has to `finish` it.
 * Mails are only stored, as the {@link Outcome} says: a running server sends them, unless who calls this does.
 */
export async function perform<Input extends object, Output>(
  deps: Deps,
  actor: Person,
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  const lacksAssertion =
    operation.who[actor.kind] === 'all, asserted' && !(actor.kind === 'admin' && actor.hasAsserted);
  if (lacksAssertion) throw new AppError('forbidden');
  checkReach(deps, actor, operation, input);
  return operation.act(deps, { ...actor, version: operation.version }, input);
}

/** The same for callers who wait for what goes on afterwards too; throws what that throws. */
export async function performWhole<Input extends object, Output>(
  deps: Deps,
  actor: Person,
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  const output = await perform(deps, actor, operation, input);
  if (isUnfinished(output)) await output.finish();
  return output;
}

/** Whether something goes on after what was done. */
export function isUnfinished(output: unknown): output is Unfinished {
  return typeof output === 'object' && output !== null && 'finish' in output;
}

/** Whether it is what an operation that changes keys leaves behind. */
export function isOutcome(output: unknown): output is Outcome {
  return typeof output === 'object' && output !== null && 'noticeIds' in output;
}

/** Throws the `forbidden` and `not_found` of {@link perform}, but asks an admin for no assertion. */
export function checkReach(deps: Deps, actor: Person, { who }: { who: Who }, input: object): void {
  const reach = who[actor.kind];
  refuseKind({ who }, actor.kind);
  checkSight(deps.db, actor, input);
  if (actor.kind === 'owner' && reach === 'own, unless banned') refuseBanned(readOwnerById(deps.db, actor.profileId));
}
