import type { z } from 'zod';
import { decodeUtf8, readSmallText, type SmallFile, tooLarge } from '../../shared/config/files.ts';
import { AppError } from '../../shared/errors.ts';
import { FIELDS, KEY_REQUEST, type KeyRequest, parseInput } from '../../shared/keys/fields.ts';
import { prefillFrom } from '../../shared/keys/grant.ts';
import { factsOf } from '../../shared/keys/inputs.ts';
import { checkProfile } from '../../shared/keys/life.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import type { Context } from '../context.ts';
import { canAsk, columnsOf, notice } from '../terminal/output.ts';
import { askChoice } from '../terminal/prompts.ts';
import { retryIfChanged } from '../terminal/values.ts';
import { type NamedProfile, namedProfile, performAndPrint, readKey, unlessChanged } from './context.ts';
import { askField, fieldText, missingFlags, refuseMissing } from './inputs.ts';
import { factsText } from './print.ts';

const operation = OPERATIONS.request;

/** The known fields of a request: from flags, and later also from prompts. */
type RequestInput = Partial<KeyRequest> &
  Partial<NamedProfile> & {
    /** The key that this one will replace; shown, but never prompted for. */
    successorOf?: string;
  };

type CompleteRequest = Required<KeyRequest> & NamedProfile & Pick<RequestInput, 'successorOf'>;

/** A confirmed request, and the context for sending it unless its profile has changed since it was shown. */
type Confirmed = { request: CompleteRequest; context: Context };

const ASKED_FIELDS = { profile: FIELDS.profile, ...KEY_REQUEST.shape } as const satisfies Record<string, z.ZodType>;

type FieldName = keyof typeof ASKED_FIELDS;

const FIELD_NAMES = Object.keys(ASKED_FIELDS) as FieldName[];

/** Requests a key, after prompts for what is missing on a terminal. `descriptionFile` replaces the description. */
export async function requestKey(
  context: Context,
  typed: RequestInput,
  descriptionFile: string | undefined,
): Promise<void> {
  // A successor takes omitted values from the key that it will replace.
  const old = typed.successorOf === undefined ? null : await readKey(context, typed.successorOf);
  const profile = typed.profile ?? old?.profile ?? undefined;
  // If the description comes from stdin, stdin can't also be used for answers.
  const mayAsk = canAsk() && !context.yes && descriptionFile !== '-';
  const known = { ...(old && prefillFrom(old)), ...typed, ...(profile !== undefined && { profile }) };
  if (!mayAsk) refuseMissing(operation, { description: descriptionFile, ...known });
  const found = profile === undefined ? undefined : namedProfile(context.deps, { profile });
  const given: RequestInput = { ...known, ...(await readDescription(typed, descriptionFile)), ...found };
  if (!mayAsk) {
    await performAndPrint(found === undefined ? context : unlessChanged(context, found), operation, given);
    return;
  }
  // If all required values are given, optional ones are not prompted for.
  const isWhole = missingFlags(operation, given).length === 0;
  let latest: RequestInput = isWhole ? { projectUrl: null, expectedUsage: null, ...given } : given;
  await retryIfChanged(true, async () => {
    const confirmed = await askForRequest(context, latest);
    latest = confirmed.request;
    await performAndPrint(confirmed.context, operation, confirmed.request);
  });
}

async function readDescription({ description }: RequestInput, file: string | undefined): Promise<RequestInput> {
  if (file === undefined) return {};
  if (description !== undefined) {
    throw new AppError('usage', '--description and --description-file are mutually exclusive; leave one out.');
  }
  return { description: await readTextFile(file) };
}

/**
 * Prompts for the missing fields of a request, then shows the whole request and asks whether to send it or to change a
 * field. Given fields are checked before the first prompt. Throws `usage`, `cancelled`.
 */
async function askForRequest(context: Context, given: RequestInput): Promise<Confirmed> {
  const { deps } = context;
  if (given.profile !== undefined) checkProfile(deps, namedProfile(deps, given as NamedProfile).profileId);
  for (const field of FIELD_NAMES) {
    if (given[field] !== undefined) parseInput(ASKED_FIELDS[field], given[field]);
  }
  let request = { ...given };
  for (const field of FIELD_NAMES) {
    if (request[field] === undefined) request = await askFor(context, field, request);
  }
  return review(context, request as CompleteRequest);
}

/** Shows the whole request, again after each change, until the person sends it. Throws `cancelled`, `not_found`. */
async function review(context: Context, typed: CompleteRequest): Promise<Confirmed> {
  // The profile may have been renamed since the prompt.
  const request = { ...typed, ...namedProfile(context.deps, typed) };
  const shown = unlessChanged(context, request);
  const { successorOf } = request;
  const facts: [string, string][] = [
    ...(successorOf === undefined ? [] : [['Successor of', successorOf] as [string, string]]),
    ...FIELD_NAMES.map((field) => fieldText(ASKED_FIELDS[field], request[field])),
  ];
  notice(`\n${factsText(facts, columnsOf(process.stderr))}\n`);
  const choice = await askChoice('Send this request?', [
    { value: 'send', name: 'Send it' },
    ...FIELD_NAMES.map((field) => ({ value: field, name: `Change: ${factsOf(ASKED_FIELDS[field]).title}` })),
    { value: 'cancel', name: 'Cancel' },
  ]);
  if (choice === 'send') return { request, context: shown };
  if (choice === 'cancel') throw new AppError('cancelled');
  return review(context, (await askFor(context, choice, request)) as CompleteRequest);
}

async function askFor({ deps }: Context, field: FieldName, request: RequestInput): Promise<RequestInput> {
  const isProfile = field === 'profile';
  const find = (profile: unknown) => namedProfile(deps, { profile: String(profile) });
  const answer = await askField({
    schema: ASKED_FIELDS[field],
    initial: request[field] ?? (factsOf(ASKED_FIELDS[field]).kind === 'permissions' ? ['api.lookup'] : null),
    // The profile must also have a free slot.
    ...(isProfile && { check: (profile) => checkProfile(deps, find(profile).profileId) }),
    nowMs: () => deps.clock.nowMs(),
  });
  // From now on the profile is fixed, even if its name changes.
  return { ...request, ...(isProfile ? find(answer) : { [field]: answer }) };
}

/**
 * Reads text from a file, or from stdin if `path` is "-". Throws `usage` if it can't be read, is longer than any text of a key
 * may be, or is not UTF-8.
 */
async function readTextFile(path: string): Promise<string> {
  const file: SmallFile = {
    name: '--description-file',
    path: path === '-' ? 'stdin' : path,
    maxKib: 64,
    code: 'usage',
  };
  if (path !== '-') return readSmallText(file);
  if (process.stdin.isTTY) notice('Reading from the terminal; press Ctrl-D on an empty line to finish.');
  return decodeUtf8(file, await readInput(file));
}

async function readInput(file: SmallFile): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let left = file.maxKib * 1_024;
  try {
    for await (const chunk of process.stdin) {
      chunks.push(chunk as Uint8Array);
      left -= (chunk as Uint8Array).length;
      if (left < 0) throw tooLarge(file);
    }
  } catch (error) {
    throw inputFault(error);
  }
  return Buffer.concat(chunks);
}

/** Turns a system error while reading stdin, such as when it is a folder, into `usage`; returns other errors unchanged. */
function inputFault(error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  return new AppError('usage', `Standard input can't be read (${code}).`, { cause: error });
}
