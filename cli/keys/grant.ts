import type { z } from 'zod';
import { isoTime } from '../../shared/clock.ts';
import { faultOf } from '../../shared/errors.ts';
import { differingFrom } from '../../shared/keys/differing.ts';
import { EXPIRES_SYNTAX, EXPIRY_SYNTAX, refuseTimeWithin } from '../../shared/keys/expiry.ts';
import { factsOf } from '../../shared/keys/input-facts.ts';
import { GRANT, type Grant, type KeyChange } from '../../shared/keys/input-groups.ts';
import { readAnswer, readTyped } from '../../shared/keys/input-text.ts';
import { FIELDS } from '../../shared/keys/inputs.ts';
import { parseInput } from '../../shared/keys/parse-input.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import { formatRateLimit, parseRateLimits, RATE_LIMIT_SYNTAX, type RateLimit } from '../../shared/limits/rate-limit.ts';
import { notice } from '../output.ts';
import { askPermissions, askText, confirm } from '../prompts.ts';
import type { KeysContext, KeysHere } from './context.ts';

/** The flags for what an approval grants. */
export type GrantOptions = { permission?: string[]; rateLimit?: string[]; expires?: string; retireOld?: string };

/** Reads the grant from the flags. Fields without a flag are undefined. Throws `usage`. */
export function parseGrant(
  { clock }: Pick<KeysContext, 'clock'>,
  { permission, rateLimit, expires, retireOld }: GrantOptions,
): Grant {
  const { permissions, rateLimits, expiresAtMs, retireOldAtMs } = GRANT.shape;
  const nowMs = clock.nowMs();
  const read = <T extends z.ZodType>(schema: T, texts: readonly string[] | undefined) =>
    texts === undefined ? undefined : parseInput(schema, readTyped(factsOf(schema), texts, nowMs));
  return {
    permissions: read(permissions, permission),
    rateLimits: read(rateLimits, rateLimit),
    expiresAtMs: read(expiresAtMs, expires === undefined ? undefined : [expires]),
    retireOldAtMs: read(retireOldAtMs, retireOld === undefined ? undefined : [retireOld]),
  };
}

/** A time as it was answered; null for none. Throws `usage`. */
function answeredTime(schema: typeof FIELDS.expiresAtMs, text: string, nowMs: number): number | null {
  return parseInput(schema.nullable(), readAnswer(factsOf(schema), [text], nowMs));
}

/**
 * Asks for what the flags don't give, shows the address to which the secret goes, and asks for a confirmation. Returns null
 * after a no. Throws `cancelled`.
 */
export async function askGrant(context: KeysHere, key: KeyView, given: Grant, address: string): Promise<Grant | null> {
  const grant = await askForGrant(context, key, given);
  const retirement =
    grant.retireOldAtMs === null ? '' : `, end the old key ${key.successorOf} at ${isoTime(grant.retireOldAtMs)}`;
  const question = `Grant ${grantText(grant)}${retirement}, and mail the secret?`;
  notice(`The secret will be mailed to ${address}.`);
  return (await confirm(question)) ? grant : null;
}

/** Says where a secret was mailed to. */
export function mailedText(address: string | undefined): string {
  return `The secret was mailed to ${address}.`;
}

type Granted = { permissions: readonly string[]; rateLimits: readonly RateLimit[]; expiresAtMs: number | null };

function grantText({ permissions, rateLimits, expiresAtMs }: Granted): string {
  const expiry = expiresAtMs === null ? 'no expiry' : `until ${isoTime(expiresAtMs)}`;
  return `${permissions.join(', ')} at ${rateLimits.map(formatRateLimit).join(', ')}, ${expiry}`;
}

/**
 * Asks what an Active or suspended key is to have from now on, beginning with what it has, and then for one yes. Returns what differs from
 * what the key has, which may be nothing: an answer that only keeps something must not write it back where somebody else has
 * changed it. Returns null after a no. Throws `cancelled`.
 */
export async function askChange({ clock }: KeysContext, key: KeyView): Promise<KeyChange | null> {
  const expiry = (text: string) => answeredTime(FIELDS.expiresAtMs, text, clock.nowMs());
  const change = {
    permissions: await askPermissions('Permissions', key.permissions),
    rateLimits: await askRateLimits(key.rateLimits),
    expiresAtMs: expiry(
      await askText({
        message: 'Expires',
        hint: `${EXPIRES_SYNTAX}.`,
        initial: key.expiresAt ?? 'never',
        fault: (text) => faultOf(() => expiry(text)),
      }),
    ),
  };
  const question = `Change the key to ${grantText(change)}, and mail the owner what changed?`;
  return (await confirm(question)) ? differingFrom(key, change) : null;
}

async function askRateLimits(initial: readonly RateLimit[]): Promise<RateLimit[]> {
  const limits = (text: string) => parseRateLimits([text]);
  const text = await askText({
    message: 'Rate limits',
    hint: RATE_LIMIT_SYNTAX,
    initial: initial.map(formatRateLimit).join(' '),
    fault: (typed) => faultOf(() => limits(typed)),
  });
  return limits(text);
}

async function askForGrant({ clock, usualRateLimits, approvalLeaseMs }: KeysHere, key: KeyView, given: Grant) {
  const expiry = (text: string) => {
    const nowMs = clock.nowMs();
    const atMs = answeredTime(FIELDS.expiresAtMs, text, nowMs);
    refuseTimeWithin(atMs, approvalLeaseMs, nowMs);
    return atMs;
  };
  const end = (text: string) => answeredTime(FIELDS.retireOldAtMs, text, clock.nowMs());
  return {
    permissions: given.permissions ?? (await askPermissions('Permissions to grant', key.requestedPermissions)),
    rateLimits: given.rateLimits ?? (await askRateLimits(usualRateLimits(key.successorOf))),
    expiresAtMs:
      given.expiresAtMs !== undefined
        ? given.expiresAtMs
        : expiry(
            await askText({
              message: 'Expires',
              hint: `${EXPIRY_SYNTAX}; Enter for never.`,
              fault: (text) => faultOf(() => expiry(text)),
            }),
          ),
    retireOldAtMs:
      given.retireOldAtMs !== undefined || key.successorOf === null
        ? (given.retireOldAtMs ?? null)
        : end(
            await askText({
              message: `End of the old key ${key.successorOf}`,
              hint: `${EXPIRY_SYNTAX}; Enter leaves it as it is.`,
              fault: (text) => faultOf(() => end(text)),
            }),
          ),
  };
}
