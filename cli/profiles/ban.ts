import type { Command } from 'commander';
import { changeOne } from './change.ts';

/** Adds `profiles ban` and `profiles unban`. */
export function addTo(parent: Command): void {
  parent
    .command('ban')
    .description('Ban a profile: lookups show it as banned, the leaderboard omits it, and its keys are refused.')
    .argument('<username>', "the profile's username or one of its aliases")
    .addHelpText(
      'after',
      '\nRunning servers refuse its keys within 10 ms, and no new keys can be requested. The keys keep their state and work again\nafter "profilectl profiles unban"; "profilectl keys revoke" ends one for good. The owner is mailed if a key is Active.\n\nExample:\n  profilectl profiles ban ada',
    )
    .action((username: string, _options: unknown, command: Command) =>
      changeOne(command, username, () => ({ banned: true })),
    );
  parent
    .command('unban')
    .description('Lift the ban on a profile; its keys work again.')
    .argument('<username>', "the profile's username or one of its aliases")
    .addHelpText('after', '\nExample:\n  profilectl profiles unban ada')
    .action((username: string, _options: unknown, command: Command) =>
      changeOne(command, username, () => ({ banned: false })),
    );
}
