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
  successorOf?: string;
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
    .option('--successor-of <identifier>', 'an Active key of the profile that this one is to replace')
    .addHelpText(
      'after',
      `
Asks for what is missing on a terminal. Prints the identifier and "pending". What is not given for a successor is taken
from the key that it is to replace; both work until an admin, or the expiry, ends the old one.

Examples:
  profilectl keys request --successor-of k7Qm2XaB
  profilectl keys request --profile Ada --name "Badge bot" --permission api.lookup \\
    --description "Shows the profile badges of our members beside their names in the chat, a few lookups a minute."`,
    )
    .action((options: Options, command: Command) =>
      withContext(command, 'use', async (context) => {
        const { OPERATIONS } = await import('../../shared/operations.ts');
        const { performAndPrint } = await import('./perform.ts');
        const given = await prefill(context, options);
        const ask = canAsk() && !context.yes && !isComplete(given);
        const input = ask ? await askForMissing(context, given) : requireAll(given);
        await performAndPrint(context, OPERATIONS.request, { ...input, successorOf: options.successorOf });
      }),
    );
}

/** What is not given for a successor is what the key before it has. Throws `not_found`, `refused`. */
async function prefill({ deps, actor }: Context, options: Options): Promise<Options> {
  if (options.successorOf === undefined) return options;
  const { OPERATIONS, perform } = await import('../../shared/operations.ts');
  const { prefillFrom } = await import('../../shared/keys/successor.ts');
  const { key } = await perform(deps, actor, OPERATIONS.show, { identifier: options.successorOf });
  const { permissions: permission, ...texts } = prefillFrom(key);
  return { permission, ...texts, ...options };
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
  const { OPERATIONS } = await import('../../shared/operations.ts');
  const { name, description, permissions, projectUrl, expectedUsage } = OPERATIONS.request.input;
  const { checkProfile } = await import('../../shared/keys/lifecycle.ts');
  const questions = {
    profile: ['Profile', 'Its username or an alias.', (value: string) => faultOf(() => checkProfile(deps, value))],
    name: ['Name of the key', '1 to 255 characters; it can be changed later.', name.fault],
    description: ['Description', 'What is it for? 80 to 2000 characters.', description.fault],
    projectUrl: ['Project URL', 'Optional: Enter for none.', projectUrl.fault],
    expectedUsage: ['Expected usage', 'Optional: Enter for none.', expectedUsage.fault],
  } as const;
  if (options.profile !== undefined) checkProfile(deps, options.profile);
  for (const field of Object.keys(questions) as (keyof typeof questions)[]) {
    throwIfFault(options[field] === undefined ? null : questions[field][2](options[field]));
  }
  throwIfFault(options.permission === undefined ? null : permissions.fault(options.permission));
  const ask = async (field: keyof typeof questions) => {
    const [message, hint, fault] = questions[field];
    return options[field] ?? (await askText({ message, hint, fault }));
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
