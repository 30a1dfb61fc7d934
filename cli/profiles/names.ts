import type { Command } from 'commander';
import { withAlias, withoutAlias, withUsername } from '../../shared/profiles/edit/change.ts';
import { changeOne } from './change.ts';

const WHOSE = "the profile's username or one of its aliases";

/** Adds `profiles rename`, `profiles alias add` and `profiles alias remove`. */
export function addTo(parent: Command): void {
  parent
    .command('rename')
    .description('Change the username of a profile.')
    .argument('<username>', WHOSE)
    .argument('<new>', 'the new username; it may be an alias of the profile')
    .option('--keep-alias', 'keep the old username as an alias of the profile')
    .addHelpText(
      'after',
      '\nWithout --keep-alias others can use the old name at once.\n\nExample:\n  profilectl profiles rename ada countess --keep-alias',
    )
    .action(async (username: string, name: string, options: { keepAlias?: boolean }, command: Command) => {
      await changeOne(command, username, (profile) => withUsername(profile, name, options.keepAlias === true));
    });
  const alias = parent.command('alias').description('Add an alias to a profile, or remove one.');
  alias
    .command('add')
    .description('Add another name by which lookups find a profile.')
    .argument('<username>', WHOSE)
    .argument('<alias>', 'the new alias')
    .addHelpText('after', '\nExample:\n  profilectl profiles alias add ada lovelace')
    .action(async (username: string, name: string, _options: unknown, command: Command) => {
      await changeOne(command, username, (profile) => withAlias(profile, name));
    });
  alias
    .command('remove')
    .description('Remove an alias; others can use it at once.')
    .argument('<username>', WHOSE)
    .argument('<alias>', 'the alias')
    .addHelpText('after', '\nExample:\n  profilectl profiles alias remove ada lovelace')
    .action(async (username: string, name: string, _options: unknown, command: Command) => {
      await changeOne(command, username, (profile) => withoutAlias(profile, name));
    });
}
