import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { prefillFrom } from '../../shared/keys/life/successor.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { canAsk } from '../terminal/output.ts';
import { readTextFile } from '../terminal/read-input.ts';
import { retryIfChanged } from '../terminal/retry-if-changed.ts';
import { addCommand, missingFlags, refuseMissing } from './command.ts';
import { performAndPrint } from './perform.ts';
import { askForRequest, type RequestInput } from './request-questions.ts';

const operation = OPERATIONS.request;

/** Adds `keys request`, which requests a key. */
export function addTo(parent: Command): void {
  const command = addCommand(parent, operation, async (context, { given: flags }) => {
    const { descriptionFile } = command.opts<{ descriptionFile?: string }>();
    const typed = flags as RequestInput;
    const { successorOf } = typed;
    // A successor takes omitted values from the key that it will replace.
    const old = successorOf && (await context.perform(OPERATIONS.show, { identifier: successorOf })).key;
    const profile = typed.profile ?? (old ? old.profile : null);
    // If the description comes from stdin, stdin can't also be used for answers.
    const mayAsk = canAsk() && !context.yes && descriptionFile !== '-';
    const known = { ...(old && prefillFrom(old)), ...typed, ...(profile !== null && { profile }) };
    if (!mayAsk) refuseMissing(missingFlags(operation, { description: descriptionFile, ...known }));
    const found = profile === null ? undefined : context.findProfile({ profile });
    const given: RequestInput = { ...known, ...(await readDescription(typed, descriptionFile)), ...found };
    if (!mayAsk) {
      const perform = found === undefined ? context.perform : context.performUnlessChanged(found);
      await performAndPrint({ ...context, perform }, operation, given);
      return;
    }
    // If all required values are given, optional ones are not prompted for.
    const isWhole = missingFlags(operation, given).length === 0;
    let latest: RequestInput = isWhole ? { projectUrl: null, expectedUsage: null, ...given } : given;
    await retryIfChanged(true, async () => {
      const { request, perform } = await askForRequest(context, latest);
      latest = request;
      await performAndPrint({ ...context, perform }, operation, request);
    });
  });
  command.option('--description-file <path>', 'a file with the description; "-" is stdin');
}

async function readDescription({ description }: RequestInput, file: string | undefined): Promise<RequestInput> {
  if (file === undefined) return {};
  if (description !== undefined) {
    throw new AppError('usage', '--description and --description-file are mutually exclusive; leave one out.');
  }
  return { description: await readTextFile('--description-file', file) };
}
