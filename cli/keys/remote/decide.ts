import { AppError, exitCodeOf } from '../../../shared/errors.ts';
import { factsOf, isLongText } from '../../../shared/keys/fields/input-facts.ts';
import { ALREADY_SO } from '../../../shared/keys/life/differing.ts';
import { flaggedInputs, isAlreadySo, type ShownKey } from '../../../shared/operations/entry.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { hasBrowser, openBrowser } from '../../remote/browser.ts';
import { canAsk, notice } from '../../terminal/output.ts';
import { waitWhile } from '../../terminal/waiting.ts';
import { flagName } from '../command.ts';
import type { RemoteKeys } from '../context.ts';
import { printKey } from '../perform.ts';
import { keyPage, queuePage } from './decision-address.ts';
import { type Decision, endOf } from './decision-outcome.ts';

// An admin's token can only read. The command makes a link to the key's page that fills in the form there, and polls
// the key until it was decided on. The server stores nothing for this.

const PATIENCE_MS = 600_000;

/** The key is polled after pauses that double from the first to the maximum. */
const PAUSE_MS = { first: 250, max: 2_000 };

/**
 * Has an admin decide on a page of the server: prints its URL, opens it in a browser of this machine if there is one,
 * waits until the key was decided on, and prints the key. Without a terminal it waits only if `isWaiting`. Throws
 * `usage`, `refused` and `not_found` for impossible decisions; `refused` if something else was decided or the mail was
 * refused permanently; `try_later` if nothing was decided within ten minutes or the mail can be tried again;
 * `cancelled` after Ctrl-C; and the errors of `askHost`.
 */
export async function decideOnPage(context: RemoteKeys, decision: Decision, isWaiting: boolean): Promise<void> {
  const { operation, identifier, given } = decision;
  const [typed] = flaggedInputs(operation, 'admin').filter(([input, schema]) => input in given && isLongText(schema));
  if (typed !== undefined) {
    const [, schema] = typed;
    const sentence = `On a remote server, the ${factsOf(schema).label} is typed on the key's page; leave ${flagName(schema)} out.`;
    throw new AppError('usage', sentence);
  }
  const before = await show(context, identifier);
  await context.prepare(operation, before.key, given);
  if (Object.keys(given).length > 0 && isAlreadySo(operation, before, given)) {
    notice(`Warning: ${ALREADY_SO}`);
    return printKey(context, identifier);
  }
  const page = keyPage(context.server, decision);
  const line = `To ${operation.name} key ${identifier}, open this page and confirm with your passkey: ${page}`;
  if (!canAsk() && !isWaiting) throw new AppError('try_later', line);
  await waitWhile(
    context.clock,
    () => {
      notice(line);
      // If that fails, the person can still copy the URL.
      if (hasBrowser()) void openBrowser(page);
      return watchKey(context, decision, before, PATIENCE_MS);
    },
    async () => interruptedText(decision, before, await show(context, identifier)),
    'decision',
  );
  await printKey(context, identifier);
}

/** The error if no key is named, with a link to the page with the pending requests. */
export function queueIsOnPage({ server }: RemoteKeys): AppError {
  const sentence = `On a remote server, you decide on requests in the browser: ${queuePage(server)} lists the pending ones. Or name a key here.`;
  return new AppError('usage', sentence);
}

/** The current state of a key and, once it is decided on, of the key that it replaces, whose expiry the decision changes. */
async function show({ perform }: RemoteKeys, identifier: string): Promise<ShownKey> {
  const shown = await perform(OPERATIONS.show, { identifier });
  const { successorOf, state } = shown.key;
  const isDecided = successorOf !== null && state !== 'pending';
  return {
    ...shown,
    predecessor: isDecided ? (await perform(OPERATIONS.show, { identifier: successorOf })).key : null,
  };
}

/**
 * Polls the key until it was changed as decided, even if the server can't be reached at times. Throws the error of
 * {@link endOf}, `try_later` after `patienceMs`, and the errors of `askHost`.
 */
export async function watchKey(
  context: RemoteKeys,
  decision: Decision,
  before: ShownKey,
  patienceMs: number,
): Promise<void> {
  const { clock } = context;
  const deadlineMs = clock.monotonicMs() + patienceMs;
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS.max)) {
    const now = await showOrFault(context, decision.identifier);
    const end = now instanceof AppError ? null : endOf(decision, before, now);
    if (end === 'as decided') return;
    if (end !== null) throw end;
    if (clock.monotonicMs() >= deadlineMs) throw now instanceof AppError ? now : undecided(now, patienceMs);
    await Bun.sleep(pauseMs);
  }
}

async function showOrFault(context: RemoteKeys, identifier: string): Promise<ShownKey | AppError> {
  try {
    return await show(context, identifier);
  } catch (error) {
    if (error instanceof AppError && exitCodeOf(error.code) === exitCodeOf('try_later')) return error;
    throw error;
  }
}

function undecided({ key: { identifier, state, attempt } }: ShownKey, patienceMs: number): AppError {
  const sentence =
    attempt?.result === 'open'
      ? `The server is still mailing the secret of key ${identifier}; "profilectl keys show ${identifier}" shows the result.`
      : `Nobody decided within ${patienceMs / 60_000} minutes; key ${identifier} is still ${state}.`;
  return new AppError('try_later', sentence);
}

function interruptedText(decision: Decision, before: ShownKey, now: ShownKey): string {
  const { identifier, state, attempt } = now.key;
  if (attempt?.result === 'open') {
    return `Interrupted; the server is still mailing the secret of key ${identifier}. "profilectl keys show ${identifier}" shows the result.`;
  }
  const end = endOf(decision, before, now);
  if (end === null) return `Interrupted; key ${identifier} is still ${state}. You can still confirm on the page.`;
  if (end === 'as decided') return `Interrupted; key ${identifier} was decided on, and is now ${state}.`;
  return `Interrupted. ${end.message}`;
}
