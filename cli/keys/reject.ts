import type { Command } from 'commander';
import { OPERATIONS } from '../../shared/operations.ts';
import { ELSEWHERE_HELP, WAIT_FLAG } from './elsewhere-help.ts';
import { endWithReason } from './reason.ts';
import { REASON_HELP } from './reason-help.ts';
import { withKeys } from './with-keys.ts';

/** Adds `keys reject`: an admin rejects a pending request and gives the reason. */
export function addTo(parent: Command): void {
  parent
    .command('reject')
    .description(OPERATIONS.reject.summary)
    .argument('<identifier>', 'the 8 characters that name the key')
    .option('--reason <text>', 'why, as the owner will read it')
    .option(...WAIT_FLAG)
    .addHelpText(
      'after',
      `${REASON_HELP}\n${ELSEWHERE_HELP}\n\nExample:\n  profilectl keys reject k7Qm2XaB --reason "Please say which pages will show the data."`,
    )
    .action((identifier: string, options: { reason?: string; wait?: true }, command: Command) =>
      withKeys(command, async (context) => {
        await endWithReason(context, 'reject', identifier, options);
      }),
    );
}
