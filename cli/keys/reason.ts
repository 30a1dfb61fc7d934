import { refuseMove } from '../../shared/keys/record.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { columnsOf, notice } from '../output.ts';
import { confirmOrYes, isAsking, needed } from '../values.ts';
import type { KeysContext } from './context.ts';
import { performAndPrint } from './perform.ts';
import { keyText } from './print.ts';

const QUESTIONS = {
  reject: 'Reject this request and mail the reason to the owner?',
  revoke: 'Revoke this key at once and mail the reason to the owner?',
} as const;

/**
 * Rejects a request or revokes a key. On a terminal, without `--yes`, it shows the key, asks for the reason if it was not
 * given, and asks for a confirmation. Throws `usage` if the reason is missing and no one can be asked, `cancelled`, and what
 * the operation throws.
 */
export async function endWithReason(
  context: KeysContext,
  move: 'reject' | 'revoke',
  identifier: string,
  given: string | undefined,
): Promise<void> {
  const end = (reason: string | undefined) =>
    move === 'revoke'
      ? performAndPrint(context, OPERATIONS.revoke, { identifier, reason: reason ?? null })
      : performAndPrint(context, OPERATIONS.reject, { identifier, reason: needed(reason, '--reason') });
  const isOptional = move === 'revoke' && given === undefined && (await context.ownProfile()) !== null;
  if (!isAsking(context.yes)) {
    await end(isOptional ? undefined : needed(given, '--reason'));
    return;
  }
  const { key } = await context.perform(OPERATIONS.show, { identifier });
  refuseMove(key, move);
  notice(`${keyText(key, columnsOf(process.stderr))}\n`);
  const reason = given ?? (await askReason(move, isOptional));
  await confirmOrYes(false, QUESTIONS[move]);
  await end(reason);
}

/** Asks for a reason; an owner may leave it empty. */
async function askReason(move: 'reject' | 'revoke', isOptional: boolean): Promise<string> {
  const { askText } = await import('../prompts.ts');
  const { fault } = OPERATIONS[move].input.reason;
  const hint = isOptional ? 'Optional: Enter for none.' : 'As the owner will read it.';
  return askText({
    message: 'Reason',
    hint,
    isLong: true,
    fault: (text) => (isOptional && text === '' ? null : fault(text)),
  });
}
