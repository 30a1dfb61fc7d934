import { AppError, refusalOf } from '../../shared/errors.ts';
import type { ListInput } from '../../shared/keys/fields/input-groups.ts';
import type { HistoryView, KeyView } from '../../shared/keys/view.ts';
import type { AnyOperation } from '../../shared/operations/entry.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { ageText, columnsOf, counted, notice, print, printJson } from '../terminal/output.ts';
import { askChoice } from '../terminal/prompts.ts';
import { retryIfChanged } from '../terminal/retry-if-changed.ts';
import { whileMailIsChecked } from '../terminal/waiting.ts';
import { askAndConfirm, mailedText } from './carry-out.ts';
import { type KeysContext, unlessKeyChanged } from './context.ts';
import { performAndWait } from './perform.ts';
import { historyText, keysText, keyText } from './print.ts';

const CHOICES = [
  { value: 'approve', name: 'Approve: asks for the grant, then mails the secret' },
  { value: 'reject', name: 'Reject, with a reason that is mailed' },
  { value: 'skip', name: 'Skip for now' },
  { value: 'quit', name: 'Stop here' },
] as const;

type Given = Readonly<Record<string, unknown>>;

type Walk = { decided: string[]; failures: AppError[] };

/**
 * Goes through the pending requests, oldest first, and prompts for a decision on each. Inputs in `given` are not
 * prompted for. If a decision fails, prints the error and continues; at the end throws an error with the code of the
 * first failure. Throws `cancelled` after Ctrl-C or Ctrl-D; earlier decisions
 * remain in effect.
 */
export async function walkQueue(context: KeysContext, given: Given): Promise<void> {
  const queue = await list(context, { states: ['pending'] });
  const walk: Walk = { decided: [], failures: [] };
  if (queue.length > 0) await warnWithoutMail(context);
  try {
    for (const [index, { identifier }] of queue.entries()) {
      const position = `Request ${index + 1} of ${queue.length}`;
      const next = await retryIfChanged(true, async () => {
        const now = unlessKeyChanged(context, identifier);
        const { key, history } = await show(now, identifier);
        // Another person may have decided on this request in the meantime.
        if (key.state !== 'pending') return 'next';
        await showRequest(now, key, history, position);
        return decideOne(now, key, given, walk);
      });
      if (next === 'quit') break;
    }
  } catch (error) {
    throw walk.decided.length > 0 ? withEarlierDecisions(error) : error;
  } finally {
    await report(context, queue.length, walk);
  }
  const [first] = walk.failures;
  if (first === undefined) return;
  throw new AppError(
    first.code,
    `${counted(walk.failures.length, 'decision')} failed; "profilectl keys list --state pending" shows what is still waiting.`,
  );
}

/** Warns before the first prompt if mail can't be sent now: then requests can be rejected, but not approved. */
async function warnWithoutMail({ clock, checkMailer }: KeysContext): Promise<void> {
  try {
    await whileMailIsChecked(clock, checkMailer());
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'cancelled') throw error;
    notice(`Warning: ${error.message}`);
  }
}

/** Adds to the error after Ctrl-C that earlier decisions remain in effect; returns other errors unchanged. */
function withEarlierDecisions(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== 'cancelled') return error;
  const isQuestion = error.message === refusalOf('cancelled').sentence;
  if (isQuestion) return new AppError('cancelled', 'Cancelled; earlier decisions remain in effect.');
  return new AppError('cancelled', `${error.message} Earlier decisions remain in effect.`);
}

function show({ perform }: KeysContext, identifier: string): Promise<{ key: KeyView; history: HistoryView[] }> {
  return perform(OPERATIONS.show, { identifier });
}

async function list({ perform }: KeysContext, filter: ListInput): Promise<KeyView[]> {
  return (await perform(OPERATIONS.list, filter)).keys;
}

async function showRequest(
  context: KeysContext,
  key: KeyView,
  history: readonly HistoryView[],
  position: string,
): Promise<void> {
  const { clock } = context;
  notice(`\n${position}, ${ageText(key.requestedAt, clock.nowMs())} old\n\n${keyText(key, columnsOf(process.stderr))}`);
  notice(`\n${historyText(history)}`);
  const all = key.profile === null ? [] : await list(context, { profile: key.profile });
  const others = all.filter(({ identifier }) => identifier !== key.identifier);
  notice(`\nOther keys of ${key.profile}: ${others.length === 0 ? 'none' : ''}`.trimEnd());
  if (others.length > 0) notice(keysText(others, clock.nowMs()));
  notice('');
}

async function decideOne(context: KeysContext, key: KeyView, given: Given, walk: Walk): Promise<'quit' | 'next'> {
  for (;;) {
    const choice = await askChoice('What now?', CHOICES);
    if (choice === 'quit') return 'quit';
    if (choice === 'skip') return 'next';
    try {
      // If the decision was declined, ask about the same request again.
      if (!(await decide(context, OPERATIONS[choice], key, given))) continue;
      walk.decided.push(key.identifier);
      if (!context.json) print(`${key.identifier} ${(await show(context, key.identifier)).key.state}`);
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'cancelled' || error.code === 'changed_since') throw error;
      walk.failures.push(error);
      notice(error.message);
    }
    return 'next';
  }
}

async function decide(context: KeysContext, operation: AnyOperation, key: KeyView, given: Given): Promise<boolean> {
  // Some flags apply only to some decisions, such as `--retire-old` to the approval of a successor.
  const defaults = context.defaults(operation, key);
  const applying = Object.fromEntries(Object.entries(given).filter(([input]) => input in defaults));
  const input = await askAndConfirm(context, operation, key, { given: applying });
  if (input === null) return false;
  const { mailedTo } = await performAndWait(context, operation, { ...input, identifier: key.identifier });
  if (mailedTo !== undefined) notice(mailedText(mailedTo));
  return true;
}

async function report(context: KeysContext, total: number, { decided }: Walk): Promise<void> {
  if (context.json) {
    const shown = await Promise.all(decided.map((identifier) => show(context, identifier)));
    printJson({ keys: shown.map(({ key }) => key) });
  } else if (total === 0) print('No requests are pending.');
  else notice(`${decided.length} of ${counted(total, 'request')} decided.`);
}
