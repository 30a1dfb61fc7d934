import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { RATE_LIMIT_SYNTAX } from '../../shared/limits/rate-limit.ts';
import { withContext } from '../context.ts';
import { EXPIRES_SYNTAX, type GrantOptions, parseGrant } from './grant.ts';

/** Adds `keys change`: an admin changes the permissions, the rate limits or the expiry of an Active key. */
export function addTo(parent: Command): void {
  parent
    .command('change')
    .description('Change permissions, rate limits or expiry of an Active key; the owner is mailed from what to what.')
    .argument('<identifier>', 'the 8 characters that name the key')
    .option('--permission <permission...>', 'all that the key may do from now on')
    .option('--rate-limit <limit...>', `all its rate limits from now on, one to four: ${RATE_LIMIT_SYNTAX}`)
    .option('--expires <when>', EXPIRES_SYNTAX)
    .addHelpText(
      'after',
      `
What is not given stays as it is, the secret always. It holds on a running server within 10 ms. A rate limit on a window
that the key had before keeps what was spent in it, whatever its quota was; a new window begins unused.

Examples:
  profilectl keys change k7Qm2XaB --rate-limit 600/1m 50000/1d
  profilectl keys change k7Qm2XaB --permission api.lookup api.leaderboard
  profilectl keys change k7Qm2XaB --expires 2027-01-31
  profilectl keys change k7Qm2XaB --expires never`,
    )
    .action((identifier: string, options: GrantOptions, command: Command) =>
      withContext(command, 'use', async (context) => {
        const { OPERATIONS } = await import('../../shared/operations.ts');
        const { performAndPrint } = await import('./perform.ts');
        const { permissions, rateLimits, expiresAtMs } = parseGrant(context, options);
        if (permissions === undefined && rateLimits === undefined && expiresAtMs === undefined) {
          throw new AppError('usage', 'Say what to change: --permission, --rate-limit or --expires.');
        }
        await performAndPrint(context, OPERATIONS.change, { identifier, permissions, rateLimits, expiresAtMs });
      }),
    );
}
