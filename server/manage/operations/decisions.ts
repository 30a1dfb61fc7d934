import type { SignedAdmin } from '../../../shared/access/assertions.ts';
import { askDecision, giveBackDecision } from '../../../shared/access/cli-decisions.ts';
import type { PersonToken } from '../../../shared/access/person-tokens.ts';
import { AppError } from '../../../shared/errors.ts';
import { parseIsoTime } from '../../../shared/iso-time.ts';
import { checkChange } from '../../../shared/keys/change.ts';
import { refuseTimePast } from '../../../shared/keys/expiry.ts';
import { decideGrant } from '../../../shared/keys/granted.ts';
import { readKey } from '../../../shared/keys/record.ts';
import { shownKey } from '../../../shared/keys/shown.ts';
import type { RateLimit } from '../../../shared/limits/rate-limit.ts';
import { checkAsked, OPERATIONS, type Operation } from '../../../shared/operations.ts';
import { carryOut, refuseImpossible } from '../../developers/deciding.ts';
import type { KeyDecision } from '../../developers/passkeys/decision-form.ts';
import { type Answered, type Call, personTokenOf } from '../call.ts';
import { changed, identifierOf, keyOf } from './keys.ts';

// Decisions on keys. An owner revokes his own keys. With an admin's token each is answered with an address where the admin
// lets exactly this through by a passkey (`cli-decisions.ts`); the same request, sent again, is then carried out once. Each
// throws what `perform` throws, and with an admin's token `decision_needed`, `decision_refused`, `changed_since` and
// `too_many_challenges`.

/** The members of the body of {@link change}. */
export const CHANGE_MEMBERS = ['permissions', 'rateLimits', 'expiresAt'] as const;

/** The members of the body of {@link approve}. */
export const GRANT_MEMBERS = [...CHANGE_MEMBERS, 'retireOldAt'] as const;

/** `POST /manage/v1/keys/{identifier}/approve`: what is absent takes its default. Its mail is sent after the answer. */
export async function approve(call: Call): Promise<Answered> {
  const { access } = call;
  const input = { ...changeIn(call), retireOldAtMs: timeIn(call, 'retireOldAt', 'end of the old key') };
  return decide(call, OPERATIONS.beginApproval, input, () => {
    const key = readKey(access.db, input.identifier);
    return { operation: 'approve', ...decideGrant(access, key, input, access.clock.nowMs()) };
  });
}

/** `POST /manage/v1/keys/{identifier}/change`: what is absent stays as it is. */
export async function change(call: Call): Promise<Answered> {
  const input = changeIn(call);
  return decide(call, OPERATIONS.change, input, () => {
    const { permissions, rateLimits } = checkChange(input);
    refuseTimePast(input.expiresAtMs ?? null, call.access.clock.nowMs());
    return { operation: 'change', permissions, rateLimits, expiresAtMs: input.expiresAtMs };
  });
}

/** `POST /manage/v1/keys/{identifier}/reject`. */
export async function reject(call: Call): Promise<Answered> {
  const input = reasonIn(call);
  return decide(call, OPERATIONS.reject, input, () => ({ operation: 'reject', reason: input.reason }));
}

/** `POST /manage/v1/keys/{identifier}/revoke`: an owner may leave the reason out. */
export async function revoke(call: Call): Promise<Answered> {
  const input = reasonIn(call);
  if (personTokenOf(call).person.kind === 'owner') return changed(call, OPERATIONS.revoke, input);
  // Admins always give a reason: the rule for it is that of a rejection.
  return decide(call, OPERATIONS.reject, input, () => ({ operation: 'revoke', reason: input.reason }));
}

const ACCEPTED = 202;

/**
 * Asks for a decision, or carries it out where the admin has let it through. `read` returns it in its one form, after the
 * checks of the operation, and throws `usage` for what is wrong with it.
 */
async function decide<Input extends { identifier: string }>(
  call: Call,
  operation: Operation<Input, unknown>,
  input: Input,
  read: () => Omit<KeyDecision, 'identifier' | 'shown'>,
): Promise<Answered> {
  const { access, pages, request } = call;
  const { identifier } = input;
  const token = personTokenOf(call);
  checkAsked(access, token.person, operation, input);
  // Read before the rest: where the key changes in between, the decision is refused.
  const shown = shownKey(access, identifier);
  const decision = { ...read(), identifier, shown };
  await refuseImpossible(pages, decision);
  // Only admins have passed the checks of the operation.
  const adminsToken = token as PersonToken & { signed: SignedAdmin };
  const { id, person } = askDecision(access, adminsToken, decision, request.address);
  if (person === null) throw decisionNeeded(call, id);
  try {
    await carryOut(pages, person, decision);
  } catch (error) {
    if (error instanceof AppError && error.code === 'busy') giveBackDecision(access, id);
    throw error;
  }
  return { status: ACCEPTED, body: await keyOf(call, identifier) };
}

function decisionNeeded({ access: { config } }: Call, id: string): AppError {
  return new AppError('decision_needed', null, { address: `${config.publicUrl}/developers/cli/decisions/${id}` });
}

/** What the body changes; null and nothing mean the same but for the time, where null is for never. */
function changeIn(call: Call) {
  const { permissions, rateLimits } = call.body;
  return {
    identifier: identifierOf(call),
    permissions: (permissions ?? undefined) as string[] | undefined,
    rateLimits: (rateLimits ?? undefined) as RateLimit[] | undefined,
    expiresAtMs: timeIn(call, 'expiresAt', 'expiry'),
  };
}

function reasonIn(call: Call): { identifier: string; reason: string } {
  return { identifier: identifierOf(call), reason: call.body.reason as string };
}

/** A time of the body in milliseconds since 1970; null where it says null, undefined where it says nothing. Throws `bad_body`. */
function timeIn({ body }: Call, name: 'expiresAt' | 'retireOldAt', label: string): number | null | undefined {
  const value = body[name];
  if (value === undefined || value === null) return value;
  const atMs = typeof value === 'string' ? parseIsoTime(value) : null;
  if (atMs !== null) return atMs;
  throw new AppError('bad_body', `The ${label} must be a time such as 2027-01-31T00:00:00Z, or null.`);
}
