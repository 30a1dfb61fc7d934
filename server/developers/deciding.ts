import type { Person } from '../../shared/actor.ts';
import { AppError } from '../../shared/errors.ts';
import { requireMailer } from '../../shared/keys/approve.ts';
import { checkOpenable } from '../../shared/keys/attempt.ts';
import { checkChangeable } from '../../shared/keys/change.ts';
import { refuseTimeWithin } from '../../shared/keys/expiry.ts';
import { refuseMove } from '../../shared/keys/record.ts';
import { showKey } from '../../shared/keys/view.ts';
import { OPERATIONS, perform } from '../../shared/operations.ts';
import { runInBackground } from './background.ts';
import type { KeyDecision } from './passkeys/decision-form.ts';
import { performHere } from './perform.ts';
import type { Pages } from './visit.ts';

// What admins decide on a page, once a passkey has let it through.

/** Throws what would refuse a decision just now, before anybody is asked for a passkey. */
export async function refuseImpossible(
  { access, isStopping }: Pages,
  { operation, identifier, expiresAtMs = null }: KeyDecision,
): Promise<void> {
  if (operation === 'change') checkChangeable(access, identifier);
  else if (operation !== 'approve') refuseMove(showKey(access, identifier), operation);
  else {
    checkOpenable(access, identifier);
    refuseTimeWithin(expiresAtMs, access.approvalLeaseMs, access.clock.nowMs());
    await requireMailer(access);
    if (isStopping) throw new AppError('try_later', 'The server is being stopped; approve once it is back.');
  }
}

/**
 * Carries a decision out as the person whose passkey has let it through. An approval is only begun: its mail is sent in the
 * background, and the key tells how that goes. Throws what `perform` throws.
 */
export async function carryOut(pages: Pages, person: Person, decision: KeyDecision): Promise<void> {
  const { operation, identifier } = decision;
  if (operation === 'approve') return beginToApprove(pages, person, decision);
  const by = { access: pages.access, person };
  const withReason = { identifier, reason: decision.reason ?? '' };
  if (operation === 'change') await performHere(by, OPERATIONS.change, { ...grantOf(decision), identifier });
  else if (operation === 'reject') await performHere(by, OPERATIONS.reject, withReason);
  else await performHere(by, OPERATIONS.revoke, withReason);
}

/** Opens the attempt, and leaves the rest to the background. */
async function beginToApprove({ access, background, report }: Pages, by: Person, decision: KeyDecision): Promise<void> {
  const { identifier } = decision;
  const { finish } = await perform(access, by, OPERATIONS.beginApproval, { ...grantOf(decision), identifier });
  runInBackground(background, finish, (cause) => {
    // What came of the mail is in the key's history, which the log does not repeat.
    const isTold = cause instanceof AppError && (cause.code === 'refused' || cause.code === 'try_later');
    if (isTold) report('warn', `Key ${identifier} was approved, but did not become Active; its page says why.`);
    else report('error', `The approval of key ${identifier} failed.`, cause);
  });
}

/** What of a decision the operations take that grant something. */
function grantOf({ permissions, rateLimits, expiresAtMs, retireOldAtMs }: KeyDecision) {
  return { permissions, rateLimits, expiresAtMs, retireOldAtMs };
}
