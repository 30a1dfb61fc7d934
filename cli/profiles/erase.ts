import type { Command } from 'commander';
import { withContext } from '../context.ts';
import { print, printJson } from '../output.ts';
import { confirmOrYes } from '../values.ts';

/** `profiles erase`: a profile and every trace of it, after one confirmation. */
export function addErase(parent: Command): void {
  parent
    .command('erase')
    .description('Erase a profile for good; its API keys stop working.')
    .argument('<username>', "the profile's username or an alias of it")
    .addHelpText('after', '\nExamples:\n  profilectl profiles erase ada\n  profilectl profiles erase ada --yes')
    .action((name: string, _options: unknown, command: Command) =>
      withContext(command, 'use', async ({ deps, by, yes, json }) => {
        const { eraseProfile, findProfile } = await import('../../shared/profiles/erase.ts');
        const { id, username } = findProfile(deps.db, name);
        await confirmOrYes(yes, `Erase the profile ${username} (id ${id}) for good, and stop its API keys?`);
        const erased = eraseProfile(deps, name, by);
        if (json) printJson({ ...erased, erased: true });
        else print(`Erased ${erased.username} (id ${erased.id}).`);
      }),
    );
}
