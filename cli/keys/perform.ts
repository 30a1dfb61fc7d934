import type { Outcome } from '../../shared/keys/lifecycle.ts';
import { OPERATIONS, type Operation, perform } from '../../shared/operations.ts';
import type { Context } from '../context.ts';
import { notice, print, printJson } from '../output.ts';

/**
 * Does something that changes a key, as the operator, then prints: warnings to stderr, and the key (`--json`) or its
 * identifier and state to stdout. Throws what `perform` throws.
 */
export async function performAndPrint<Input extends object>(
  { deps, actor, json }: Context,
  operation: Operation<Input, Outcome>,
  input: Input,
): Promise<void> {
  const { identifier, warning } = await perform(deps, actor, operation, input);
  if (warning !== null) notice(`Warning: ${warning}`);
  const { key } = await perform(deps, actor, OPERATIONS.show, { identifier });
  if (json) printJson(key);
  else print(`${key.identifier} ${key.state}`);
}
