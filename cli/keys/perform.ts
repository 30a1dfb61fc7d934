import { isoTime } from '../../shared/clock.ts';
import type { Outcome } from '../../shared/keys/lifecycle.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import { OPERATIONS, type Operation } from '../../shared/operations.ts';
import { notice, print, printJson } from '../output.ts';
import { waitForMail } from '../waiting.ts';
import type { KeysContext } from './context.ts';

/**
 * Performs an operation that changes a key. Prints warnings to stderr, and the key's identifier and state
 * (the whole key with `--json`) to stdout. Returns and throws what {@link performAndWait} does.
 */
export async function performAndPrint<Input extends object>(
  context: KeysContext,
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
 * Performs an operation that changes a key, and prints its warnings to stderr. While a mail is being sent, a
 * terminal shows the wait. Returns the operation's result. Throws what `perform` throws, and `cancelled` after Ctrl-C with
 * the state of the key.
 */
export async function performAndWait<Input extends object>(
  context: KeysContext,
  operation: Operation<Input, Outcome>,
  input: Input & { identifier?: string; profile?: string },
): Promise<Outcome> {
  const { clock } = context;
  const begunMs = clock.nowMs();
  const act = context.perform(operation, input);
  const outcome = await waitForMail(clock, act, async () =>
    input.identifier === undefined
      ? `Interrupted; the request is pending, and "profilectl keys list --profile ${input.profile}" shows it. Whether the admin was told is not known.`
      : interruptedText(context, await show(context, input.identifier), begunMs),
  );
  if (outcome.warning !== null) notice(`Warning: ${outcome.warning}`);
  return outcome;
}

async function show({ perform }: KeysContext, identifier: string): Promise<KeyView> {
  return (await perform(OPERATIONS.show, { identifier })).key;
}

/** The state of a key after Ctrl-C. The attempt to approve it keeps others away until its lease is over. */
function interruptedText(
  { approvalLeaseMs }: KeysContext,
  { identifier, state, attempt }: KeyView,
  begunMs: number,
): string {
  if (state === 'Active') return `Interrupted; key ${identifier} is Active, and the mail with its secret is out.`;
  if (state !== 'pending') return `Interrupted; key ${identifier} is ${state}. Whether the mail went out is not known.`;
  // An older attempt belongs to somebody else and goes on.
  if (attempt?.result !== 'open' || Date.parse(attempt.startedAt) < begunMs)
    return `Interrupted; key ${identifier} is pending as before.`;
  const until = isoTime(Date.parse(attempt.startedAt) + approvalLeaseMs);
  return `Interrupted; key ${identifier} is pending still. If the mail arrives, the secret in it will never work; approve again after ${until} to send a new one.`;
}
