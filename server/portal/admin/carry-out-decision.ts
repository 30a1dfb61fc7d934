import type { Person } from '../../../shared/actor.ts';
import { AppError } from '../../../shared/errors.ts';
import { isUnfinished } from '../../../shared/operations.ts';
import { runInBackground } from '../../thread/background.ts';
import type { Pages } from '../../thread/pages.ts';
import { performHere } from '../../thread/perform.ts';
import { type KeyDecision, operationOf } from '../passkeys/decision-form.ts';

// What admins decide on a page, once a passkey has let it through.

/** Throws what would refuse a decision just now, before anybody is asked for a passkey. */
export async function refuseImpossible({ access, isStopping }: Pages, decision: KeyDecision): Promise<void> {
  const { check, goesOn, texts } = operationOf(decision);
  await check(access, decision);
  if (goesOn !== null && isStopping) {
    throw new AppError('try_later', `The server is being stopped; ${texts?.button.toLowerCase()} once it is back.`);
  }
}

/**
 * Carries a decision out as the person whose passkey has let it through. What goes on afterwards, as the mail of an approval
 * does, is done in the background, and the key tells how that goes. Throws what `perform` throws.
 */
export async function carryOut(
  { access, background, report }: Pages,
  person: Person,
  decision: KeyDecision,
): Promise<void> {
  const operation = operationOf(decision);
  const output = await performHere({ access, person }, operation, decision);
  if (!isUnfinished(output) || operation.goesOn === null) return;
  const { refused, failed } = operation.goesOn;
  const key = `Key ${decision.identifier}`;
  runInBackground(background, output.finish, (cause) => {
    // What came of the mail is in the key's history, which the log does not repeat.
    const isTold = cause instanceof AppError && (cause.code === 'refused' || cause.code === 'try_later');
    if (isTold) report('warn', `${key} ${refused}`);
    else report('error', `${key} ${failed}`, cause);
  });
}
