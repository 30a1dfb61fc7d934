import { FIELDS, OPTIONAL_REASON } from '../../shared/keys/inputs.ts';
import { faultOfInput } from '../../shared/keys/parse-input.ts';
import { refuseMove } from '../../shared/keys/record.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { againWhileChanged } from '../again.ts';
import { columnsOf, notice } from '../output.ts';
import { askText } from '../prompts.ts';
import { decideOnPage, reasonElsewhere } from '../remote/decide.ts';
import { confirmOrYes, isAsking, needed } from '../values.ts';
import { forKeyAsNow, type KeysContext } from './context.ts';
import { performAndPrint } from './perform.ts';
import { keyText } from './print.ts';

const QUESTIONS = {
  reject: 'Reject this request and mail the reason to the owner?',
  revoke: 'Revoke this key at once and mail the reason to the owner?',
} as const;

/**
 * Rejects a request or revokes a key; an admin at a server elsewhere does it on a page. On a terminal, without `--yes`, it shows the key, asks for the reason if it was not
 * given, and asks for a confirmation. Throws `usage` if the reason is missing and no one can be asked, `cancelled`, and what
 * the operation throws.
 */
export async function endWithReason(
  context: KeysContext,
  move: 'reject' | 'revoke',
  identifier: string,
  { reason: given, wait = false }: { reason?: string; wait?: boolean },
): Promise<void> {
  const isOwner = move === 'revoke' && (await context.ownProfile()) !== null;
  if (context.server !== null && !isOwner) {
    if (given !== undefined) throw reasonElsewhere();
    return decideOnPage(context, { move, identifier, given: {} }, wait);
  }
  const isOptional = isOwner && given === undefined;
  const isAsked = isAsking(context.yes);
  let reason = isAsked || isOptional ? given : needed(given, '--reason');
  await againWhileChanged(isAsked, async () => {
    const now = forKeyAsNow(context, identifier);
    if (isAsked) {
      const { key } = await now.perform(OPERATIONS.show, { identifier });
      refuseMove(key, move);
      notice(`${keyText(key, columnsOf(process.stderr))}\n`);
      reason ??= await askReason(isOptional);
      await confirmOrYes(false, QUESTIONS[move]);
    }
    if (move === 'reject') await performAndPrint(now, OPERATIONS.reject, { identifier, reason: reason ?? '' });
    else await performAndPrint(now, OPERATIONS.revoke, { identifier, reason: reason ?? null });
  });
}

/** Asks for a reason; an owner may leave it empty. */
async function askReason(isOptional: boolean): Promise<string> {
  const hint = isOptional ? 'Optional: Enter for none.' : 'As the owner will read it.';
  return askText({
    message: 'Reason',
    hint,
    isLong: true,
    fault: (text) => faultOfInput(isOptional ? OPTIONAL_REASON : FIELDS.reason, text),
  });
}
