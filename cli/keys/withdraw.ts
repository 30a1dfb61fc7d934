import type { Command } from 'commander';
import { OPERATIONS } from '../../shared/operations.ts';
import { forKeyAsNow } from './context.ts';
import { performAndPrint } from './perform.ts';
import { withKeys } from './with-keys.ts';

/** Adds `keys withdraw`: an owner withdraws a pending request. */
export function addTo(parent: Command): void {
  parent
    .command('withdraw')
    .description(OPERATIONS.withdraw.summary)
    .argument('<identifier>', 'the 8 characters that name the key')
    .addHelpText('after', '\nExample:\n  profilectl keys withdraw k7Qm2XaB')
    .action((identifier: string, _options: unknown, command: Command) =>
      withKeys(command, async (context) => {
        await performAndPrint(forKeyAsNow(context, identifier), OPERATIONS.withdraw, { identifier });
      }),
    );
}
