import type { Command } from 'commander';
import { changeOne } from './change.ts';

/** Adds `profiles ban` and `profiles unban`. A banned profile is not on the leaderboard, its keys are refused, and it gets no new ones. */
export function addTo(parent: Command): void {
  parent
    .command('ban')
    .description('Ban a profile: lookups say so, the leaderboard leaves it out, its keys are refused.')
    .argument('<username>', "the profile's username or an alias of it")
    .addHelpText(
      'after',
      '\nRunning servers refuse its keys within 10 ms, and it gets no new ones. The keys keep their state and work again after\n"profilectl profiles unban"; "profilectl keys revoke" ends one for good. The owner of an Active key gets a mail.\n\nExample:\n  profilectl profiles ban ada',
    )
    .action((username: string, _options: unknown, command: Command) =>
      changeOne(command, username, () => ({ banned: true })),
    );
  parent
    .command('unban')
    .description('Lift the ban of a profile; its keys work again.')
    .argument('<username>', "the profile's username or an alias of it")
    .addHelpText('after', '\nExample:\n  profilectl profiles unban ada')
    .action((username: string, _options: unknown, command: Command) =>
      changeOne(command, username, () => ({ banned: false })),
    );
}
