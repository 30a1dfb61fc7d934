import type { Outcome } from '../../shared/keys/lifecycle.ts';
import { showKey } from '../../shared/keys/view.ts';
import type { Context } from '../context.ts';
import { notice, print, printJson } from '../output.ts';

/** Ends a command that changed a key: warnings to stderr, then the key (`--json`) or its identifier and state. */
export function finish({ deps, json }: Context, outcome: Outcome): void {
  if (outcome.warning !== null) notice(`Warning: ${outcome.warning}`);
  const key = showKey(deps, outcome.identifier);
  if (json) printJson(key);
  else print(`${key.identifier} ${key.state}`);
}
