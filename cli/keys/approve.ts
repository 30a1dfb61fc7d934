import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { EXPIRES_SYNTAX, EXPIRY_SYNTAX } from '../../shared/keys/expiry.ts';
import type { Grant } from '../../shared/keys/input-groups.ts';
import { RATE_LIMIT_SYNTAX } from '../../shared/limits/rate-limit.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { againWhileChanged } from '../again.ts';
import { globalsOf } from '../context.ts';
import { canAsk, columnsOf, notice } from '../output.ts';
import { decideOnPage, queueElsewhere } from '../remote/decide.ts';
import { isAsking } from '../values.ts';
import { whileMailIsChecked } from '../waiting.ts';
import { forKeyAsNow, type KeysHere } from './context.ts';
import { ELSEWHERE_HELP, WAIT_FLAG } from './elsewhere-help.ts';
import { askGrant, type GrantOptions, mailedText, parseGrant } from './grant.ts';
import { performAndPrint } from './perform.ts';
import { keyText } from './print.ts';
import { walkQueue } from './queue.ts';
import { withKeys } from './with-keys.ts';

/** Adds `keys approve`: it approves a request, and the owner gets the secret by mail. Without an identifier it asks about each
 * pending request. */
export function addTo(parent: Command): void {
  parent
    .command('approve')
    .description(OPERATIONS.approve.summary)
    .argument('[identifier]', 'the 8 characters that name the key; without it every pending request is shown in turn')
    .option('--permission <permission...>', 'what the key may do; default: what was requested')
    .option(
      '--rate-limit <limit...>',
      `${RATE_LIMIT_SYNTAX}; one to four, separated by spaces or commas; default: DEFAULT_RATE_LIMITS, for a successor those of the old key`,
    )
    .option('--expires <when>', `${EXPIRES_SYNTAX}, more than two minutes ahead; default: never`)
    .option('--retire-old <when>', `when the key that this one succeeds ends: ${EXPIRY_SYNTAX}; default: as before`)
    .option(...WAIT_FLAG)
    .addHelpText(
      'after',
      `
On a terminal the request is laid out, what is not given is asked for, and nothing happens before a yes to the address
that the secret goes to; where mail can't be sent, that is said before the first question. Without an identifier it
goes through the queue, the oldest request first: approve, reject with a reason, skip, or stop there.
Off a terminal, or with --yes, an identifier is needed, and what is absent takes its default.
${ELSEWHERE_HELP}

Examples:
  profilectl keys approve
  profilectl keys approve k7Qm2XaB
  profilectl keys approve k7Qm2XaB --yes --permission api.lookup --rate-limit 60/1m 5000/1d --expires 90d
  profilectl keys approve k7Qm2XaB --yes --retire-old 7d     # a successor: the key before it ends in a week`,
    )
    .action((identifier: string | undefined, options: GrantOptions & { wait?: true }, command: Command) => {
      const { yes } = globalsOf(command);
      if (identifier === undefined && (yes || !canAsk())) {
        throw new AppError(
          'usage',
          'The identifier is missing: only on a terminal, without --yes, the queue is shown.',
        );
      }
      return withKeys(command, async (context) => {
        const given = parseGrant(context, options);
        if (context.server !== null) {
          if (identifier === undefined) throw queueElsewhere(context);
          return decideOnPage(context, { move: 'approve', identifier, given }, options.wait === true);
        }
        const isAsked = isAsking(yes);
        if (identifier === undefined) {
          return walkQueue(context, given);
        }
        const { mailedTo } = await againWhileChanged(isAsked, async () => {
          const now = forKeyAsNow(context, identifier);
          const grant = isAsked ? await decide(now, identifier, given) : given;
          return performAndPrint(now, OPERATIONS.approve, { identifier, ...grant });
        });
        if (isAsked) notice(mailedText(mailedTo));
      });
    });
}

async function decide(context: KeysHere, identifier: string, given: Grant): Promise<Grant> {
  const { key } = await context.perform(OPERATIONS.show, { identifier });
  const address = await whileMailIsChecked(context.clock, context.checkApproval(identifier));
  notice(`${keyText(key, columnsOf(process.stderr))}\n`);
  const grant = await askGrant(context, key, given, address);
  if (grant === null) throw new AppError('cancelled');
  return grant;
}
