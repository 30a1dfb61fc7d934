import { AppError } from '../../shared/errors.ts';
import { approveKey } from '../../shared/keys/approve.ts';
import type { Grant } from '../../shared/keys/attempt.ts';
import { TEXT_RULES, textFault } from '../../shared/keys/fields.ts';
import { rejectKey } from '../../shared/keys/lifecycle.ts';
import { type KeyView, keyHistory, listKeys, showKey } from '../../shared/keys/view.ts';
import type { Context } from '../context.ts';
import { columnsOf, counted, notice, print, printJson } from '../output.ts';
import { askChoice, askText } from '../prompts.ts';
import { askGrant } from './grant.ts';
import { ageText, historyText, keysText, keyText } from './print.ts';

const CHOICES = [
  { value: 'approve', name: 'Approve: asks for the grant, then mails the secret' },
  { value: 'reject', name: 'Reject, with a reason that is mailed' },
  { value: 'skip', name: 'Skip it for now' },
  { value: 'quit', name: 'Stop here' },
] as const;

/** What the walk has done so far. */
type Walk = { decided: string[]; failures: AppError[] };

/**
 * Goes through the pending requests, the oldest first, and asks of each what to do; `given` is granted without asking.
 * A decision that fails is said, and the next request is shown. Throws the first such failure at the end, and
 * `cancelled` after Ctrl-C or Ctrl-D; what was decided before stays decided.
 */
export async function walkQueue(context: Context, given: Grant): Promise<void> {
  const queue = listKeys(context.deps, { states: ['pending'] });
  const walk: Walk = { decided: [], failures: [] };
  try {
    for (const [index, { identifier }] of queue.entries()) {
      // Somebody else may have decided meanwhile.
      const key = showKey(context.deps, identifier);
      if (key.state !== 'pending') continue;
      layOut(context, key, `Request ${index + 1} of ${queue.length}`);
      if ((await decideOne(context, key, given, walk)) === 'quit') break;
    }
  } catch (error) {
    const isCancelled = error instanceof AppError && error.code === 'cancelled' && walk.decided.length > 0;
    throw isCancelled ? new AppError('cancelled', 'Cancelled; what was decided before stays decided.') : error;
  } finally {
    report(context, queue.length, walk);
  }
  const [first] = walk.failures;
  if (first === undefined) return;
  throw new AppError(
    first.code,
    `${counted(walk.failures.length, 'decision')} failed; the requests are pending still.`,
  );
}

function layOut({ deps }: Context, key: KeyView, place: string): void {
  notice(
    `\n${place}, ${ageText(key.requestedAt, deps.clock.nowMs())} old\n\n${keyText(key, columnsOf(process.stderr))}`,
  );
  notice(`\n${historyText(keyHistory(deps, key.identifier))}`);
  const all = key.profile === null ? [] : listKeys(deps, { profile: key.profile });
  const others = all.filter(({ identifier }) => identifier !== key.identifier);
  notice(`\nOther keys of ${key.profile}: ${others.length === 0 ? 'none' : ''}`.trimEnd());
  if (others.length > 0) notice(keysText(others, deps.clock.nowMs()));
  notice('');
}

async function decideOne(context: Context, key: KeyView, given: Grant, walk: Walk): Promise<'quit' | 'next'> {
  for (;;) {
    const choice = await askChoice('What now?', CHOICES);
    if (choice === 'quit') return 'quit';
    if (choice === 'skip') return 'next';
    try {
      const isDone = choice === 'approve' ? await approve(context, key, given) : await reject(context, key);
      // After a no the same question again.
      if (!isDone) continue;
      walk.decided.push(key.identifier);
      if (!context.json) print(`${key.identifier} ${showKey(context.deps, key.identifier).state}`);
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'cancelled') throw error;
      walk.failures.push(error);
      notice(error.message);
    }
    return 'next';
  }
}

async function approve(context: Context, key: KeyView, given: Grant): Promise<boolean> {
  const grant = await askGrant(context, key, given);
  if (grant === null) return false;
  await approveKey(context.deps, { identifier: key.identifier, grant, by: context.by });
  return true;
}

async function reject({ deps, by }: Context, { identifier }: KeyView): Promise<boolean> {
  const reason = await askText({
    message: 'Reason',
    hint: 'As the owner will read it; Enter alone goes back.',
    fault: (text) => (text === '' ? null : textFault(TEXT_RULES.reason, text)),
  });
  if (reason === '') return false;
  const { warning } = await rejectKey(deps, { identifier, reason, by });
  if (warning !== null) notice(`Warning: ${warning}`);
  return true;
}

function report({ deps, json }: Context, total: number, { decided }: Walk): void {
  if (json) printJson({ keys: decided.map((identifier) => showKey(deps, identifier)) });
  else if (total === 0) print('No request is pending.');
  else notice(`${decided.length} of ${counted(total, 'request')} decided.`);
}
