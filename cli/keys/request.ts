import type { Command } from 'commander';
import type { z } from 'zod';
import { AppError } from '../../shared/errors.ts';
import { prefillFrom } from '../../shared/keys/life/successor.ts';
import { flaggedInputs } from '../../shared/operations/entry.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { againWhileChanged } from '../terminal/again.ts';
import { canAsk } from '../terminal/output.ts';
import { readTextFile } from '../terminal/read-text.ts';
import { addCommand, refuseMissing } from './command.ts';
import type { KeysContext } from './context.ts';
import { performAndPrint } from './perform.ts';
import { askForRequest, type RequestInput } from './request-questions.ts';

const operation = OPERATIONS.request;

/** Adds `keys request`: an owner requests a key. */
export function addTo(parent: Command): void {
  const command = addCommand(parent, operation, async (context, { given: flags }) => {
    const { descriptionFile } = command.opts<{ descriptionFile?: string }>();
    const typed = flags as RequestInput;
    const { successorOf } = typed;
    const taken = successorOf === undefined ? {} : await prefill(context, successorOf);
    const profile = typed.profile ?? (await context.ownProfile()) ?? taken.profile;
    // If the description comes from stdin, stdin can't also be used for answers.
    const mayAsk = canAsk() && !context.yes && descriptionFile !== '-';
    const known = { ...taken, ...typed, ...(profile !== undefined && { profile }) };
    if (!mayAsk) refuseMissing(NEEDED, { description: descriptionFile, ...known });
    const found = profile === undefined ? undefined : context.findProfile({ profile });
    const given: RequestInput = { ...known, ...(await readDescription(typed, descriptionFile)), ...found };
    // The person has not seen yet which fields the successor takes over.
    const isToBeSeen = NEEDED.some(([input]) => given[input] === undefined) || successorOf !== undefined;
    if (!mayAsk || !isToBeSeen) {
      const perform = found === undefined ? context.perform : context.performAsNow(found);
      await performAndPrint({ ...context, perform }, operation, given);
      return;
    }
    let wanted = given;
    await againWhileChanged(true, async () => {
      const asked = await askForRequest(context, wanted);
      wanted = asked.request;
      await performAndPrint({ ...context, perform: asked.perform }, operation, asked.request);
    });
  });
  command.option('--description-file <path>', 'a file that holds the description; "-" is stdin');
}

/** The fields that a request can't do without. */
const NEEDED = flaggedInputs(operation, 'operator').filter(([, schema]) => !schema.safeParse(undefined).success) as [
  keyof RequestInput,
  z.ZodType,
][];

/** The description, where a file has it. Throws `usage`. */
async function readDescription({ description }: RequestInput, file: string | undefined): Promise<RequestInput> {
  if (file === undefined) return {};
  if (description !== undefined) {
    throw new AppError('usage', '--description and --description-file may not both be given.');
  }
  return { description: await readTextFile('--description-file', file) };
}

/** What a successor takes over from the earlier key where it is not given. Throws `not_found`, `refused`. */
async function prefill({ perform }: KeysContext, successorOf: string): Promise<RequestInput> {
  const { key } = await perform(OPERATIONS.show, { identifier: successorOf });
  // What the old key has not, a successor is not asked for.
  return { projectUrl: '', expectedUsage: '', ...prefillFrom(key) };
}
