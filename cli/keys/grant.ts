import { isoTime } from '../../shared/clock.ts';
import type { Grant } from '../../shared/keys/attempt.ts';
import { EXPIRY_SYNTAX, parseExpiry } from '../../shared/keys/expiry.ts';
import { checkPermissions } from '../../shared/keys/fields.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import { formatRateLimit, parseRateLimits, RATE_LIMIT_SYNTAX } from '../../shared/limits/rate-limit.ts';
import type { Context } from '../context.ts';
import { faultOf } from '../values.ts';

/** The flags that say what to grant. */
export type GrantOptions = { permission?: string[]; rateLimit?: string[]; expires?: string };

/** What the flags grant; what they leave open is undefined. Throws `usage`. */
export function parseGrant({ deps }: Context, options: GrantOptions): Grant {
  return {
    permissions: options.permission && checkPermissions(options.permission),
    rateLimits: options.rateLimit && parseRateLimits(options.rateLimit),
    expiresAtMs: options.expires === undefined ? undefined : parseExpiry(options.expires, deps.clock.nowMs()),
  };
}

/** Asks for what the flags leave open, and then for one yes; null after a no. Throws `cancelled`. */
export async function askGrant(context: Context, key: KeyView, given: Grant): Promise<Grant | null> {
  const { confirm } = await import('../prompts.ts');
  const grant = await askForGrant(context, key, given);
  const limits = grant.rateLimits.map(formatRateLimit).join(', ');
  const expiry = grant.expiresAtMs === null ? 'no expiry' : `until ${isoTime(grant.expiresAtMs)}`;
  const question = `Grant ${grant.permissions.join(', ')} at ${limits}, ${expiry}, and mail the secret?`;
  return (await confirm(question)) ? grant : null;
}

async function askForGrant({ deps }: Context, key: KeyView, given: Grant) {
  const { askPermissions, askText } = await import('../prompts.ts');
  const limits = (text: string) => parseRateLimits(text.split(/[\s,]+/).filter((part) => part !== ''));
  const expiry = (text: string) => (text.trim() === '' ? null : parseExpiry(text.trim(), deps.clock.nowMs()));
  return {
    permissions: given.permissions ?? (await askPermissions('Permissions to grant', key.requestedPermissions)),
    rateLimits:
      given.rateLimits ??
      limits(
        await askText({
          message: 'Rate limits',
          hint: RATE_LIMIT_SYNTAX,
          initial: deps.config.defaultRateLimits.map(formatRateLimit).join(' '),
          fault: (text) => faultOf(() => limits(text)),
        }),
      ),
    expiresAtMs:
      given.expiresAtMs ??
      expiry(
        await askText({
          message: 'Expires',
          hint: `${EXPIRY_SYNTAX}; Enter for never.`,
          fault: (text) => faultOf(() => expiry(text)),
        }),
      ),
  };
}
