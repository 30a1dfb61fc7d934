import type { Command } from 'commander';
import { OPERATIONS } from '../../shared/operations.ts';
import { columnsOf, print, printJson } from '../output.ts';
import { historyText, keyText } from './print.ts';
import { withKeys } from './with-keys.ts';

/** Adds `keys show`, which shows everything about one key, with its history. */
export function addTo(parent: Command): void {
  parent
    .command('show')
    .description(OPERATIONS.show.summary)
    .argument('<identifier>', 'the 8 characters that name the key')
    .addHelpText('after', '\nExample:\n  profilectl keys show k7Qm2XaB')
    .action((identifier: string, _options: unknown, command: Command) =>
      withKeys(command, async ({ perform, json }) => {
        const { key, history } = await perform(OPERATIONS.show, { identifier });
        if (json) printJson({ ...key, history });
        else print(`${keyText(key, columnsOf(process.stdout))}\n\n${historyText(history)}`);
      }),
    );
}
