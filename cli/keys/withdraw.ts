import type { Command } from 'commander';
import { withContext } from '../context.ts';

/** `keys withdraw`: an owner takes a pending request back. */
export function addTo(parent: Command): void {
  parent
    .command('withdraw')
    .description('Take back a pending request.')
    .argument('<identifier>', 'the 8 characters that name the key')
    .addHelpText('after', '\nExample:\n  profilectl keys withdraw k7Qm2XaB')
    .action((identifier: string, _options: unknown, command: Command) =>
      withContext(command, 'use', async (context) => {
        const { withdrawKey } = await import('../../shared/keys/lifecycle.ts');
        const { finish } = await import('./finish.ts');
        finish(context, withdrawKey(context.deps, { identifier, by: context.by }));
      }),
    );
}
