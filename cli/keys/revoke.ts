import type { Command } from 'commander';
import { withContext } from '../context.ts';
import { needed } from '../values.ts';

/** `keys revoke`: an admin ends an Active key, with a reason. */
export function addTo(parent: Command): void {
  parent
    .command('revoke')
    .description('Revoke an Active key at once; the owner is mailed the reason.')
    .argument('<identifier>', 'the 8 characters that name the key')
    .option('--reason <text>', 'why, as the owner will read it')
    .addHelpText(
      'after',
      '\nExample:\n  profilectl keys revoke k7Qm2XaB --reason "The secret was found in a public repository."',
    )
    .action((identifier: string, options: { reason?: string }, command: Command) =>
      withContext(command, 'use', async (context) => {
        const { OPERATIONS } = await import('../../shared/operations.ts');
        const { performAndPrint } = await import('./perform.ts');
        const reason = needed(options.reason, '--reason');
        await performAndPrint(context, OPERATIONS.revoke, { identifier, reason });
      }),
    );
}
