import { isoTime } from '../../shared/clock.ts';
import type { Outcome } from '../../shared/keys/life/move.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import type { AnyOperation, Operation } from '../../shared/operations/entry.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { shellWord } from '../../shared/text.ts';
import { notice, print, printJson } from '../terminal/output.ts';
import { waitWhile } from '../terminal/waiting.ts';
import type { KeysContext } from './context.ts';

/** Performs an operation that changes a key ({@link performAndWait}), and prints the key ({@link printKey}). */
export async function performAndPrint<Input extends object>(
  context: KeysContext,
  operation: Operation<Input, unknown>,
  input: Input,
): Promise<Outcome> {
  const outcome = await performAndWait(context, operation, input);
  await printKey(context, outcome.identifier);
  return outcome;
}

/** Prints a key's identifier and state to stdout, or the whole key with `--json`. */
export async function printKey(context: KeysContext, identifier: string): Promise<void> {
  const key = await show(context, identifier);
  if (context.json) printJson(key);
  else print(`${key.identifier} ${key.state}`);
}

/**
 * Performs an operation that changes a key. Prints warnings to stderr; a terminal shows the progress. Throws the errors of `perform`, and `cancelled` after Ctrl-C, with the state of the key.
 */
export async function performAndWait<Input extends object>(
  context: KeysContext,
  operation: Operation<Input, unknown>,
  input: Input & { identifier?: string; profile?: string },
): Promise<Outcome> {
  const { clock } = context;
  const { identifier, profile } = input;
  const begunMs = clock.nowMs();
  const outcome = (await waitWhile(
    clock,
    () => context.perform(operation, input),
    async () => {
      if (identifier === undefined) return requestText(profile);
      return interruptedText(context, operation, await show(context, identifier), begunMs);
    },
  )) as Outcome;
  if (outcome.warning !== null) notice(`Warning: ${outcome.warning}`);
  return outcome;
}

async function show({ perform }: KeysContext, identifier: string): Promise<KeyView> {
  return (await perform(OPERATIONS.show, { identifier })).key;
}

function requestText(profile: string | undefined): string {
  return `Interrupted; the request is pending, and "profilectl keys list --profile ${shellWord(profile ?? '')}" shows it. It is unknown whether admins were notified.`;
}

/** The state of a key after Ctrl-C. An attempt to approve a key in the local database blocks others until its lease ends. */
function interruptedText(
  context: KeysContext,
  { from, to, continuation }: Pick<AnyOperation, 'from' | 'to' | 'continuation'>,
  { identifier, state, attempt }: KeyView,
  begunMs: number,
): string {
  if (to === null) {
    return `Interrupted; key ${identifier} is ${state}. "profilectl keys show ${identifier}" shows whether it was changed.`;
  }
  if (continuation !== null && state === to) {
    return `Interrupted; key ${identifier} is ${state}, and the e-mail with its secret was sent.`;
  }
  if (state === to || from?.includes(state) === false) {
    return `Interrupted; key ${identifier} is ${state}. It is unknown whether the mail was sent.`;
  }
  // An older attempt is somebody else's and continues.
  if (attempt?.result !== 'open' || Date.parse(attempt.startedAt) < begunMs) {
    return `Interrupted; key ${identifier} is still ${state}.`;
  }
  const until = isoTime(Date.parse(attempt.startedAt) + context.approvalLeaseMs);
  return `Interrupted; key ${identifier} is still pending. If the mail arrives, the secret in it will never work; approve again after ${until} to send a new one.`;
}
