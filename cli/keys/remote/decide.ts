import { AppError, exitCodeOf } from '../../../shared/errors.ts';
import { factsOf } from '../../../shared/keys/fields/input-facts.ts';
import { ALREADY_SO } from '../../../shared/keys/life/differing.ts';
import { flaggedInputs } from '../../../shared/operations/entry.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { hasBrowser, openBrowser } from '../../remote/browser.ts';
import { canAsk, notice } from '../../terminal/output.ts';
import { waitWhile } from '../../terminal/waiting.ts';
import type { KeysThere } from '../context.ts';
import { printKey } from '../perform.ts';
import { keyPage, queuePage } from './decision-address.ts';
import { endOf, hasAll, type Shown, type Wanted } from './decision-outcome.ts';

// An admin's token only reads. What an admin wants to decide is a link to the key's page, which fills in the form there; this
// command watches the key until somebody has decided. Nothing is stored for it at the server.

/** How long a decision is waited for. */
const PATIENCE_MS = 600_000;

/** The key is asked for after pauses that double from the first to the longest. */
const PAUSE_MS = { first: 250, longest: 2_000 };

/**
 * Has an admin decide on a page of the server: prints its address, opens it in the browser of this machine where there is
 * one, waits until the key was decided on, and prints it as on the box. Without a terminal it waits only where `isWaiting`.
 * Throws `usage`, `refused` and `not_found` before that for what can't be decided so, `refused`
 * where the key became something else or its mail was refused for good, `try_later` where nothing was decided within ten
 * minutes or the mail may be tried again, `cancelled` after Ctrl-C, and what `askHost` throws.
 */
export async function decideOnPage(context: KeysThere, wanted: Wanted, isWaiting: boolean): Promise<void> {
  const { operation, identifier, given } = wanted;
  if (flaggedInputs(operation, 'admin').some(([input, schema]) => input in given && factsOf(schema).kind === 'lines')) {
    throw new AppError('usage', 'At a server a reason is typed on the page of the key; leave --reason out.');
  }
  const before = await show(context, identifier);
  await context.prepare(operation, before.key, given);
  if (operation.keepsRest && Object.keys(given).length > 0 && hasAll(before.key, given)) {
    notice(`Warning: ${ALREADY_SO}`);
    return printKey(context, identifier);
  }
  const address = keyPage(context.server, wanted);
  const line = `To ${operation.name} key ${identifier}, open this page and confirm it there by your passkey: ${address}`;
  if (!canAsk() && !isWaiting) throw new AppError('try_later', line);
  await waitWhile(
    context.clock,
    () => {
      notice(line);
      // Where it can't be opened, the address is there to be copied.
      if (hasBrowser()) void openBrowser(address);
      return watchKey(context, wanted, before, PATIENCE_MS);
    },
    async () => interruptedText(before, await show(context, identifier)),
    'decision',
  );
  await printKey(context, identifier);
}

/** Says where the requests are that wait; thrown where no key is named. */
export function queueElsewhere({ server }: KeysThere): AppError {
  const sentence = `At a server the requests are decided on in the browser: ${queuePage(server)} has all that wait. Or name one key here.`;
  return new AppError('usage', sentence);
}

async function show({ perform }: KeysThere, identifier: string): Promise<Shown> {
  return perform(OPERATIONS.show, { identifier });
}

/**
 * Asks for the key until it has become what was wanted. A server that can't be reached meanwhile is asked again. Throws the
 * error of {@link endOf}, `try_later` after `patienceMs`, and what `askHost` throws.
 */
export async function watchKey(context: KeysThere, wanted: Wanted, before: Shown, patienceMs: number): Promise<void> {
  const { clock } = context;
  const overMs = clock.monotonicMs() + patienceMs;
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS.longest)) {
    const now = await showOrFault(context, wanted.identifier);
    const end = now instanceof AppError ? null : endOf(wanted, before, now);
    if (end === 'as wanted') return;
    if (end !== null) throw end;
    if (clock.monotonicMs() >= overMs) throw now instanceof AppError ? now : undecided(now, patienceMs);
    await Bun.sleep(pauseMs);
  }
}

async function showOrFault(context: KeysThere, identifier: string): Promise<Shown | AppError> {
  try {
    return await show(context, identifier);
  } catch (error) {
    if (error instanceof AppError && exitCodeOf(error.code) === exitCodeOf('try_later')) return error;
    throw error;
  }
}

function undecided({ key: { identifier, state, attempt } }: Shown, patienceMs: number): AppError {
  const sentence =
    attempt?.result === 'open'
      ? `The server is still mailing the secret of key ${identifier}; "profilectl keys show ${identifier}" says how that ends.`
      : `Nobody has decided within ${patienceMs / 60_000} minutes; key ${identifier} is ${state} as before.`;
  return new AppError('try_later', sentence);
}

/** The state of a key after Ctrl-C. */
function interruptedText(before: Shown, { key }: Shown): string {
  const { identifier, state, attempt } = key;
  if (attempt?.result === 'open') {
    return `Interrupted; the server is still mailing the secret of key ${identifier}. "profilectl keys show ${identifier}" says how that ends.`;
  }
  if (!Bun.deepEquals(before.key, key)) return `Interrupted; key ${identifier} was decided on, and is ${state} now.`;
  return `Interrupted; key ${identifier} is ${state} as before. What is confirmed on the page from now on counts all the same.`;
}
