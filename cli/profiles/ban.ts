import type { Command } from 'commander';
import { changeOne } from './change.ts';

/** Adds `profiles ban` and `profiles unban`. A banned profile is not on the leaderboard and gets no new keys. */
export function addTo(parent: Command): void {
  parent
    .command('ban')
    .description('Ban a profile: lookups say so, the leaderboard leaves it out, it gets no new keys.')
    .argument('<username>', "the profile's username or an alias of it")
    .addHelpText(
      'after',
      '\nIts Active keys go on working; see "profilectl keys list --profile" and "profilectl keys revoke".\n\nExample:\n  profilectl profiles ban ada',
    )
    .action((username: string, _options: unknown, command: Command) =>
      changeOne(command, username, () => ({ banned: true })),
    );
  parent
    .command('unban')
    .description('Lift the ban of a profile.')
    .argument('<username>', "the profile's username or an alias of it")
    .addHelpText('after', '\nExample:\n  profilectl profiles unban ada')
    .action((username: string, _options: unknown, command: Command) =>
      changeOne(command, username, () => ({ banned: false })),
    );
}
