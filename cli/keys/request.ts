import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { type Context, withContext } from '../context.ts';
import { canAsk } from '../output.ts';
import { faultOf, needed } from '../values.ts';

type Options = {
  profile?: string;
  name?: string;
  description?: string;
  permission?: string[];
  projectUrl?: string;
  expectedUsage?: string;
};

/** `keys request`: an owner asks for a key. */
export function addTo(parent: Command): void {
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
        const given = ask ? await askForMissing(context, options) : requireAll(options);
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

/** What is given is checked before anything is asked, and each answer while it is typed. Throws `usage`, `cancelled`. */
async function askForMissing({ deps }: Context, options: Options) {
  const { askPermissions, askText } = await import('../prompts.ts');
  const { permissionsFault, projectUrlFault, TEXT_RULES, textFault } = await import('../../shared/keys/fields.ts');
  const { checkProfile } = await import('../../shared/keys/lifecycle.ts');
  const text = (rule: keyof typeof TEXT_RULES) => (value: string) => textFault(TEXT_RULES[rule], value);
  const questions = {
    profile: ['Profile', 'Its username or an alias.', (value: string) => faultOf(() => checkProfile(deps, value))],
    name: ['Name of the key', '1 to 255 characters; it can be changed later.', text('name')],
    description: ['Description', 'What is it for? 80 to 2000 characters.', text('description')],
    projectUrl: ['Project URL', 'Optional: Enter for none.', projectUrlFault],
    expectedUsage: ['Expected usage', 'Optional: Enter for none.', text('expectedUsage')],
  } as const;
  if (options.profile !== undefined) checkProfile(deps, options.profile);
  for (const name of Object.keys(questions) as (keyof typeof questions)[]) {
    throwIfFault(options[name] === undefined ? null : questions[name][2](options[name]));
  }
  throwIfFault(options.permission === undefined ? null : permissionsFault(options.permission));
  const ask = async (name: keyof typeof questions) => {
    const [message, hint, fault] = questions[name];
    return options[name] ?? (await askText({ message, hint, fault }));
  };
  return {
    profile: await ask('profile'),
    name: await ask('name'),
    description: await ask('description'),
    permissions: options.permission ?? (await askPermissions('Permissions', ['api.lookup'])),
    projectUrl: await ask('projectUrl'),
    expectedUsage: await ask('expectedUsage'),
  };
}

function throwIfFault(fault: string | null): void {
  if (fault !== null) throw new AppError('usage', fault);
}
