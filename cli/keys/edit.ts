import type { Command } from 'commander';
import { OPERATIONS } from '../../shared/operations.ts';
import { needed } from '../values.ts';
import { forKeyAsNow } from './context.ts';
import { performAndPrint } from './perform.ts';
import { withKeys } from './with-keys.ts';

/** Adds `keys edit`, which renames a key. */
export function addTo(parent: Command): void {
  parent
    .command('edit')
    .description(OPERATIONS.edit.summary)
    .argument('<identifier>', 'the 8 characters that name the key')
    .option('--name <name>', 'the new name, 1 to 255 characters')
    .addHelpText('after', '\nExample:\n  profilectl keys edit k7Qm2XaB --name "Badge bot 2"')
    .action((identifier: string, options: { name?: string }, command: Command) =>
      withKeys(command, async (context) => {
        const name = needed(options.name, '--name');
        await performAndPrint(forKeyAsNow(context, identifier), OPERATIONS.edit, { identifier, name });
      }),
    );
}
