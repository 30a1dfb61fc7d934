import { isoTime } from '../../shared/clock.ts';
import type { Outcome } from '../../shared/keys/lifecycle.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import { OPERATIONS, type Operation, perform } from '../../shared/operations.ts';
import type { Context } from '../context.ts';
import { notice, print, printJson } from '../output.ts';
import { waitForMail } from '../waiting.ts';

/**
 * Performs an operation that changes a key, as the operator. Prints warnings to stderr, and the key's identifier and state
 * (the whole key with `--json`) to stdout. Returns and throws what {@link performAndWait} does.
 */
export async function performAndPrint<Input extends object>(
  context: Context,
  operation: Operation<Input, Outcome>,
  input: Input,
): Promise<Outcome> {
  const outcome = await performAndWait(context, operation, input);
  const key = await show(context, outcome.identifier);
  if (context.json) printJson(key);
  else print(`${key.identifier} ${key.state}`);
  return outcome;
}

/**
 * Performs an operation that changes a key, as the operator, and prints its warnings to stderr. While a mail is being sent, a
 * terminal shows the wait. Returns the operation's result. Throws what `perform` throws, and `cancelled` after Ctrl-C with
 * the state of the key.
 */
export async function performAndWait<Input extends object>(
  context: Context,
  operation: Operation<Input, Outcome>,
  input: Input & { identifier?: string; profile?: string },
): Promise<Outcome> {
  const { deps, actor } = context;
  const begunMs = deps.clock.nowMs();
  const act = perform(deps, actor, operation, input);
  const outcome = await waitForMail(deps.clock, act, async () =>
    input.identifier === undefined
      ? `Interrupted; the request is pending, and "profilectl keys list --profile ${input.profile}" shows it. Whether the admin was told is not known.`
      : interruptedText(context, await show(context, input.identifier), begunMs),
  );
  if (outcome.warning !== null) notice(`Warning: ${outcome.warning}`);
  return outcome;
}

async function show({ deps, actor }: Context, identifier: string): Promise<KeyView> {
  return (await perform(deps, actor, OPERATIONS.show, { identifier })).key;
}

/** The state of a key after Ctrl-C. The attempt to approve it keeps others away until its lease is over. */
function interruptedText({ deps }: Context, { identifier, state, attempt }: KeyView, begunMs: number): string {
  if (state === 'Active') return `Interrupted; key ${identifier} is Active, and the mail with its secret is out.`;
  if (state !== 'pending') return `Interrupted; key ${identifier} is ${state}. Whether the mail went out is not known.`;
  // An older attempt belongs to somebody else and goes on.
  if (attempt?.result !== 'open' || Date.parse(attempt.startedAt) < begunMs)
    return `Interrupted; key ${identifier} is pending as before.`;
  const until = isoTime(Date.parse(attempt.startedAt) + deps.approvalLeaseMs);
  return `Interrupted; key ${identifier} is pending still. If the mail arrives, the secret in it will never work; approve again after ${until} to send a new one.`;
}
