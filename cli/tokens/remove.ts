import type { Command } from 'commander';
import { findToken, removeToken } from '../../shared/backends/backend-tokens.ts';
import { withAccess } from '../access.ts';
import { endedNumbers, endedText } from '../terminal/ended-sign-ins.ts';
import { notice, print, printJson } from '../terminal/output.ts';
import { confirmOrYes } from '../terminal/values.ts';

/** Adds `tokens remove`, which removes a token at once. */
export function addTo(parent: Command): void {
  parent
    .command('remove')
    .description('Remove a token of a backend at once.')
    .argument('<token>', 'the 8 characters that "tokens list" shows, or the name, if only one token has it')
    .addHelpText(
      'after',
      '\nSessions that were opened with the token end too, and so do profilectl logins that were allowed in them. The name stays in\nhistories.\n\nExample:\n  profilectl tokens remove k7Qm2XaB --yes',
    )
    .action((named: string, _options: unknown, command: Command) =>
      withAccess(command, async ({ access, actor, json, yes }) => {
        const { identifier, name, lastUsedAt } = findToken(access, named);
        const used = lastUsedAt === null ? 'never used' : `last used ${lastUsedAt}`;
        await confirmOrYes(
          yes,
          `Remove the token ${identifier} of ${name}, ${used}, and end the sessions opened with it?`,
        );
        const ended = removeToken(access, identifier, actor);
        if (json) printJson({ identifier, name, removed: true, ...endedNumbers(ended) });
        else {
          print(`Removed the token ${identifier} of ${name}.`);
          if (ended !== null) notice(`Also ended: ${endedText(ended)} opened with it.`);
        }
      }),
    );
}
