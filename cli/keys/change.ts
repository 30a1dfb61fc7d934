import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { refuseUnchangeable } from '../../shared/keys/change.ts';
import { ALREADY_SO } from '../../shared/keys/differing.ts';
import { EXPIRES_SYNTAX } from '../../shared/keys/expiry.ts';
import type { KeyChange } from '../../shared/keys/input-groups.ts';
import { RATE_LIMIT_SYNTAX } from '../../shared/limits/rate-limit.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { againWhileChanged } from '../again.ts';
import { columnsOf, notice } from '../output.ts';
import { decideOnPage } from '../remote/decide.ts';
import { isAsking } from '../values.ts';
import { forKeyAsNow, type KeysHere } from './context.ts';
import { ELSEWHERE_HELP, WAIT_FLAG } from './elsewhere-help.ts';
import { askChange, type GrantOptions, parseGrant } from './grant.ts';
import { performAndPrint, printKey } from './perform.ts';
import { keyText } from './print.ts';
import { withKeys } from './with-keys.ts';

/** Adds `keys change`: an admin changes the permissions, the rate limits or the expiry of an Active or suspended key. */
export function addTo(parent: Command): void {
  parent
    .command('change')
    .description(OPERATIONS.change.summary)
    .argument('<identifier>', 'the 8 characters that name the key')
    .option('--permission <permission...>', 'all that the key may do from now on')
    .option('--rate-limit <limit...>', `all its rate limits from now on, one to four: ${RATE_LIMIT_SYNTAX}`)
    .option('--expires <when>', EXPIRES_SYNTAX)
    .option(...WAIT_FLAG)
    .addHelpText(
      'after',
      `
On a terminal, where nothing is given, the key is laid out, you are asked for what it is to have, and nothing happens
before a yes. Otherwise what is not given stays as it is, the secret always. A running server goes by the change within
10 ms. A rate limit on a window that the key had before keeps what was spent in it, whatever its quota was; a new window
begins unused.
${ELSEWHERE_HELP}

Examples:
  profilectl keys change k7Qm2XaB
  profilectl keys change k7Qm2XaB --rate-limit 600/1m 50000/1d
  profilectl keys change k7Qm2XaB --permission api.lookup api.leaderboard
  profilectl keys change k7Qm2XaB --expires 2027-01-31
  profilectl keys change k7Qm2XaB --expires never`,
    )
    .action((identifier: string, options: GrantOptions & { wait?: true }, command: Command) =>
      withKeys(command, async (context) => {
        const given = parseGrant(context, options);
        if (context.server !== null) {
          return decideOnPage(context, { move: 'change', identifier, given }, options.wait === true);
        }
        const isNothing = [given.permissions, given.rateLimits, given.expiresAtMs].every((one) => one === undefined);
        const isAsked = isNothing && isAsking(context.yes);
        if (isNothing && !isAsked) {
          throw new AppError('usage', 'Say what to change: --permission, --rate-limit or --expires.');
        }
        await againWhileChanged(isAsked, async () => {
          const now = forKeyAsNow(context, identifier);
          const { permissions, rateLimits, expiresAtMs } = isAsked ? await decide(now, identifier) : given;
          const change = { permissions, rateLimits, expiresAtMs };
          if (isAsked && Object.values(change).every((one) => one === undefined)) {
            notice(`Warning: ${ALREADY_SO}`);
            await printKey(now, identifier);
          } else await performAndPrint(now, OPERATIONS.change, { identifier, ...change });
        });
      }),
    );
}

/** Lays the key out, and asks what it is to have. Throws `cancelled`. */
async function decide(context: KeysHere, identifier: string): Promise<KeyChange> {
  const { key } = await context.perform(OPERATIONS.show, { identifier });
  refuseUnchangeable(key);
  notice(`${keyText(key, columnsOf(process.stderr))}\n`);
  const change = await askChange(context, key);
  if (change === null) throw new AppError('cancelled');
  return change;
}
