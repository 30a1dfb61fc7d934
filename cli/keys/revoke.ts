import type { Command } from 'commander';
import { OPERATIONS } from '../../shared/operations.ts';
import { ELSEWHERE_HELP, WAIT_FLAG } from './elsewhere-help.ts';
import { endWithReason } from './reason.ts';
import { REASON_HELP } from './reason-help.ts';
import { withKeys } from './with-keys.ts';

/** Adds `keys revoke`: an admin revokes an Active or suspended key and gives the reason, which is mailed to the key's owner. */
export function addTo(parent: Command): void {
  parent
    .command('revoke')
    .description(OPERATIONS.revoke.summary)
    .argument('<identifier>', 'the 8 characters that name the key')
    .option('--reason <text>', 'why, as the owner will read it')
    .option(...WAIT_FLAG)
    .addHelpText(
      'after',
      `${REASON_HELP}\n${ELSEWHERE_HELP}\n\nExample:\n  profilectl keys revoke k7Qm2XaB --reason "The secret was found in a public repository."`,
    )
    .action((identifier: string, options: { reason?: string; wait?: true }, command: Command) =>
      withKeys(command, async (context) => {
        await endWithReason(context, 'revoke', identifier, options);
      }),
    );
}
