import type { Command } from 'commander';
import type { Permission } from '../../shared/db/key-columns.ts';
import { AppError } from '../../shared/errors.ts';
import { prefillFrom } from '../../shared/keys/successor.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { againWhileChanged } from '../again.ts';
import { canAsk } from '../output.ts';
import { readTextFile } from '../read-text.ts';
import { needed } from '../values.ts';
import type { KeysContext } from './context.ts';
import { performAndPrint } from './perform.ts';
import { askForRequest, type RequestInput } from './request-questions.ts';
import { withKeys } from './with-keys.ts';

type Options = {
  profile?: string;
  name?: string;
  description?: string;
  descriptionFile?: string;
  permission?: string[];
  projectUrl?: string;
  expectedUsage?: string;
  successorOf?: string;
};

/** Adds `keys request`: an owner requests a key. */
export function addTo(parent: Command): void {
  parent
    .command('request')
    .description(OPERATIONS.request.summary)
    .option('--profile <username>', 'username or alias of the profile')
    .option('--name <name>', 'what the key is called, 1 to 255 characters')
    .option('--description <text>', 'what it is for, 80 to 2000 characters')
    .option('--description-file <path>', 'a file that holds the description; "-" is stdin')
    .option('--permission <permission...>', 'api.lookup, api.leaderboard or both')
    .option('--project-url <url>', 'where the project can be seen (http or https)')
    .option('--expected-usage <text>', 'how often and for what, at most 1000 characters')
    .option('--successor-of <identifier>', 'an Active key of the profile that this one is to replace')
    .addHelpText(
      'after',
      `
Asks for what is missing on a terminal, long texts in EDITOR where that is set, and shows the whole before it is sent.
Prints the identifier and "pending". What is not given for a successor is taken from the key that it is to replace; both
work until an admin, or the expiry, ends the old one. At a server where you are logged in the profile is your own.

Examples:
  profilectl keys request
  profilectl keys request --successor-of k7Qm2XaB
  profilectl keys request --profile Ada --name "Badge bot" --permission api.lookup --description-file about.txt
  profilectl keys request --profile Ada --name "Badge bot" --permission api.lookup \\
    --description "Shows the profile badges of our members beside their names in the chat, a few lookups a minute."`,
    )
    .action((options: Options, command: Command) =>
      withKeys(command, async (context) => {
        const { successorOf } = options;
        const taken = successorOf === undefined ? {} : await prefill(context, successorOf);
        const profile = options.profile ?? (await context.ownProfile()) ?? taken.profile;
        // If the description comes from stdin, stdin can't also be used for answers.
        const mayAsk = canAsk() && !context.yes && options.descriptionFile !== '-';
        if (!mayAsk) requireFlags({ ...taken, ...options, ...(profile !== undefined && { profile }) });
        const found = profile === undefined ? undefined : context.findProfile({ profile });
        const perform = found === undefined ? context.perform : context.performAsNow(found);
        const given = { ...taken, ...(await readGiven(options)), ...found };
        // The person has not seen yet which fields the successor takes over.
        const isToBeSeen = !isComplete(given) || successorOf !== undefined;
        if (!mayAsk || !isToBeSeen) {
          await performAndPrint({ ...context, perform }, OPERATIONS.request, { ...requireAll(given), successorOf });
          return;
        }
        let typed: RequestInput = given;
        await againWhileChanged(true, async () => {
          const asked = await askForRequest(context, typed);
          typed = asked.request;
          await performAndPrint({ ...context, perform: asked.perform }, OPERATIONS.request, asked.request);
        });
      }),
    );
}

/** Reads the fields of a request from the flags, the description from its file. Throws `usage`. */
async function readGiven({ descriptionFile, permission, ...texts }: Options): Promise<RequestInput> {
  const given = { ...texts, ...(permission && { permissions: permission as Permission[] }) };
  if (descriptionFile === undefined) return given;
  if (given.description !== undefined) {
    throw new AppError('usage', '--description and --description-file may not both be given.');
  }
  return { ...given, description: await readTextFile('--description-file', descriptionFile) };
}

/** What a successor takes over from the earlier key where it is not given. Throws `not_found`, `refused`. */
async function prefill({ perform }: KeysContext, successorOf: string): Promise<RequestInput> {
  const { key } = await perform(OPERATIONS.show, { identifier: successorOf });
  // What the old key has not, a successor is not asked for.
  return { projectUrl: '', expectedUsage: '', ...prefillFrom(key) };
}

/** Throws `usage` where a flag is missing that nobody can be asked for. */
function requireFlags({ permission, permissions, ...given }: Options & RequestInput): void {
  needed(given.profile, '--profile');
  needed(given.name, '--name');
  needed(given.description ?? given.descriptionFile, '--description');
  needed(permission ?? permissions, '--permission');
}

function requireAll(given: RequestInput) {
  return {
    profile: needed(given.profile, '--profile'),
    ...(given.profileId !== undefined && { profileId: given.profileId }),
    name: needed(given.name, '--name'),
    description: needed(given.description, '--description'),
    permissions: needed(given.permissions, '--permission'),
    projectUrl: given.projectUrl || null,
    expectedUsage: given.expectedUsage || null,
  };
}

function isComplete({ profile, name, description, permissions }: RequestInput): boolean {
  return [profile, name, description, permissions].every((value) => value !== undefined);
}
