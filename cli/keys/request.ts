import type { Command } from 'commander';
import { withContext } from '../context.ts';
import { canAsk } from '../output.ts';
import { needed } from '../values.ts';

type Options = {
  profile?: string;
  name?: string;
  description?: string;
  permission?: string[];
  projectUrl?: string;
  expectedUsage?: string;
};

/** `keys request`: an owner asks for a key. */
export function addRequest(parent: Command): void {
  parent
    .command('request')
    .description('Ask for an API key for a profile; an admin decides.')
    .option('--profile <username>', 'username or alias of the profile')
    .option('--name <name>', 'what the key is called, 1 to 255 characters')
    .option('--description <text>', 'what it is for, 80 to 2000 characters')
    .option('--permission <permission...>', 'api.lookup, api.leaderboard or both')
    .option('--project-url <url>', 'where the project can be seen (http or https)')
    .option('--expected-usage <text>', 'how often and for what, at most 1000 characters')
    .addHelpText(
      'after',
      `
Asks for what is missing on a terminal. Prints the identifier and "pending".

Example:
  profilectl keys request --profile Ada --name "Badge bot" --permission api.lookup \\
    --description "Shows the profile badges of our members beside their names in the chat, a few lookups a minute."`,
    )
    .action((options: Options, command: Command) =>
      withContext(command, 'use', async (context) => {
        const { requestKey } = await import('../../shared/keys/lifecycle.ts');
        const { finish } = await import('./finish.ts');
        const ask = canAsk() && !context.yes && !isComplete(options);
        const given = ask ? await askForMissing(options) : requireAll(options);
        finish(context, await requestKey(context.deps, { ...given, by: context.by }));
      }),
    );
}

function requireAll(options: Options) {
  return {
    profile: needed(options.profile, '--profile'),
    name: needed(options.name, '--name'),
    description: needed(options.description, '--description'),
    permissions: needed(options.permission, '--permission'),
    projectUrl: options.projectUrl ?? null,
    expectedUsage: options.expectedUsage ?? null,
  };
}

function isComplete({ profile, name, description, permission }: Options): boolean {
  return [profile, name, description, permission].every((value) => value !== undefined);
}

async function askForMissing(options: Options) {
  const { askPermissions, askText } = await import('../prompts.ts');
  const { projectUrlFault, TEXT_RULES, textFault } = await import('../../shared/keys/fields.ts');
  const { nameFault } = await import('../../shared/profiles/name.ts');
  const ask = (given: string | undefined, message: string, hint: string, fault: (text: string) => string | null) =>
    given ?? askText({ message, hint, fault });
  const text = (rule: keyof typeof TEXT_RULES) => (value: string) => textFault(TEXT_RULES[rule], value);
  return {
    profile: await ask(options.profile, 'Profile', 'Its username or an alias.', nameFault),
    name: await ask(options.name, 'Name of the key', '1 to 255 characters; it can be changed later.', text('name')),
    description: await ask(
      options.description,
      'Description',
      'What is it for? 80 to 2000 characters.',
      text('description'),
    ),
    permissions: options.permission ?? (await askPermissions('Permissions', ['api.lookup'])),
    projectUrl: await ask(options.projectUrl, 'Project URL', 'Optional: Enter for none.', projectUrlFault),
    expectedUsage: await ask(
      options.expectedUsage,
      'Expected usage',
      'Optional: Enter for none.',
      text('expectedUsage'),
    ),
  };
}
