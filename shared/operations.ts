import type { Person } from './actor.ts';
import type { Deps } from './deps.ts';
import { AppError } from './errors.ts';
import type { Outcome } from './keys/life.ts';
import { checkSight, readOwnerById, refuseBanned } from './keys/record.ts';
import { ADMINS_OPERATIONS } from './operations/admins.ts';
import type { AnyOperation, Operation, OwnerPage, Unfinished } from './operations/entry.ts';
import { LOOKS } from './operations/looks.ts';
import { OWNERS_OPERATIONS } from './operations/owners.ts';

/** The table of all operations on keys: who may perform each, its input, its texts and its effect. */
export const OPERATIONS = { ...OWNERS_OPERATIONS, ...LOOKS, ...ADMINS_OPERATIONS };

/** All operations, for doors that loop over the table. */
export const ALL_OPERATIONS: readonly AnyOperation[] = Object.values<AnyOperation>(OPERATIONS);

/** The decisions of admins, each made on the key's page. */
export const DECISIONS: readonly AnyOperation[] = ALL_OPERATIONS.filter(
  ({ who, event }) => who.admin === 'all' && event !== null,
);

/** The decisions that the queue offers too, and whose outcomes it shows. */
export const REQUEST_DECISIONS: readonly AnyOperation[] = [OPERATIONS.approve, OPERATIONS.reject];

/** The operations that owners perform from the page of a key, each with its own page. */
export const OWNERS_ACTIONS: readonly (readonly [AnyOperation, OwnerPage])[] = ALL_OPERATIONS.flatMap((operation) =>
  operation.ownerPage === undefined ? [] : [[operation, operation.ownerPage] as const],
);

/**
 * Performs an operation for a person. Checks in this order: whether this kind of person may perform it at all (`forbidden`,
 * whatever the input), whether they can see the key or profile (`not_found`, as if it did not exist), whether the input is valid
 * (`usage`), and then the operation's own rules. An approval is only started: the caller has to `finish` it. Mails are only
 * stored ({@link Outcome}): a running server sends them, unless the caller does.
 */
export function perform<Input extends object, Output>(
  deps: Deps,
  actor: Person,
  operation: Operation<Input, Output>,
  input: Input,
): Output | Promise<Output> {
  checkReach(deps, actor, operation, input);
  return operation.act(deps, actor, input);
}

/** {@link perform} for callers who also await `finish`. */
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

/** Whether the operation has to be finished. */
export function isUnfinished(output: unknown): output is Unfinished {
  return typeof output === 'object' && output !== null && 'finish' in output;
}

/** Whether this is the output of an operation that changes keys. */
export function isOutcome(output: unknown): output is Outcome {
  return typeof output === 'object' && output !== null && 'mailIds' in output;
}

/** Throws the `forbidden` and `not_found` of {@link perform}. */
export function checkReach(deps: Deps, actor: Person, { who }: Pick<AnyOperation, 'who'>, input: object): void {
  const reach = who[actor.kind];
  if (reach === 'none') {
    throw new AppError('forbidden', `Only ${who.owner === 'none' ? 'admins' : 'owners'} can do this.`);
  }
  checkSight(deps.db, actor, input);
  if (actor.kind === 'owner' && reach === 'own, unless banned') refuseBanned(readOwnerById(deps.db, actor.profileId));
}
