import type { Command } from 'commander';
import { isoTime } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';
import type { Grant } from '../../shared/keys/attempt.ts';
import { EXPIRY_SYNTAX, parseExpiry } from '../../shared/keys/expiry.ts';
import { formatRateLimit, parseRateLimits, RATE_LIMIT_SYNTAX } from '../../shared/keys/rate-limit.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import { type Context, withContext } from '../context.ts';
import { canAsk, notice } from '../output.ts';
import { confirmOrYes } from '../values.ts';
import { keyText } from './print.ts';

type Options = { permission?: string[]; rateLimit?: string[]; expires?: string };

/** `keys approve`: an admin fixes the grant, and the secret goes out by mail. */
export function addApprove(parent: Command): void {
  parent
    .command('approve')
    .description('Approve a pending request: the secret is made and mailed to the owner, once.')
    .argument('<identifier>', 'the 8 characters that name the key')
    .option('--permission <permission...>', 'what the key may do; default: what was requested')
    .option('--rate-limit <limit...>', `${RATE_LIMIT_SYNTAX}; one to four; default: DEFAULT_RATE_LIMITS`)
    .option('--expires <when>', `${EXPIRY_SYNTAX}; default: never`)
    .addHelpText(
      'after',
      `
On a terminal the request is laid out, what is not given is asked for, and nothing happens before a yes.
Off a terminal, or with --yes, what is absent takes its default.

Examples:
  profilectl keys approve k7Qm2XaB
  profilectl keys approve k7Qm2XaB --yes --permission api.lookup --rate-limit 60/1m 5000/1d --expires 90d`,
    )
    .action((identifier: string, options: Options, command: Command) =>
      withContext(command, 'use', async (context) => {
        const { approveKey } = await import('../../shared/keys/approve.ts');
        const { finish } = await import('./finish.ts');
        const given = parseGrant(context, options);
        const grant = canAsk() && !context.yes ? await decide(context, identifier, given) : given;
        await approveKey(context.deps, { identifier, grant, by: context.by });
        finish(context, { identifier, warning: null });
      }),
    );
}

function parseGrant({ deps }: Context, options: Options): Grant {
  return {
    permissions: options.permission,
    rateLimits: options.rateLimit && parseRateLimits(options.rateLimit),
    expiresAtMs: options.expires === undefined ? undefined : parseExpiry(options.expires, deps.clock.nowMs()),
  };
}

async function decide(context: Context, identifier: string, given: Grant): Promise<Grant> {
  const { showKey } = await import('../../shared/keys/view.ts');
  const key = showKey(context.deps, identifier);
  if (key.state !== 'pending') {
    throw new AppError('refused', `Key ${identifier} is ${key.state}; only a pending key can be approved.`);
  }
  notice(`${keyText(key)}\n`);
  const grant = await askForGrant(context, key, given);
  const limits = grant.rateLimits.map(formatRateLimit).join(', ');
  const expiry = grant.expiresAtMs === null ? 'no expiry' : `until ${isoTime(grant.expiresAtMs)}`;
  await confirmOrYes(false, `Grant ${grant.permissions.join(', ')} at ${limits}, ${expiry}, and mail the secret?`);
  return grant;
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

function faultOf(parse: () => unknown): string | null {
  try {
    parse();
    return null;
  } catch (error) {
    return error instanceof AppError ? error.message : String(error);
  }
}
