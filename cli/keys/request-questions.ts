import type { z } from 'zod';
import { AppError } from '../../shared/errors.ts';
import { factsOf } from '../../shared/keys/fields/input-facts.ts';
import { KEY_REQUEST, type KeyRequest } from '../../shared/keys/fields/input-groups.ts';
import { FIELDS } from '../../shared/keys/fields/inputs.ts';
import { parseInput } from '../../shared/keys/fields/parse-input.ts';
import { columnsOf, notice } from '../terminal/output.ts';
import { askChoice } from '../terminal/prompts.ts';
import { askField, fieldText } from './ask.ts';
import type { KeysContext, NamedProfile, Perform } from './context.ts';
import { factsText } from './print.ts';

/** The known fields of a request: from flags, and later also from prompts. */
export type RequestInput = Partial<KeyRequest> & {
  profile?: string;
  /** The UID of the profile with this name. */
  profileId?: number | undefined;
  /** The key that this one will replace; shown, but never prompted for. */
  successorOf?: string;
};

type Unasked = 'profileId' | 'successorOf';

type CompleteRequest = Required<Omit<RequestInput, Unasked>> & Pick<RequestInput, Unasked>;

/** A confirmed request, and a function that sends it unless its profile has changed since it was shown. */
type Confirmed = { request: CompleteRequest; perform: Perform };

const ASKED_FIELDS = { profile: FIELDS.profile, ...KEY_REQUEST.shape } as const satisfies Record<
  keyof Omit<RequestInput, Unasked>,
  z.ZodType
>;

type FieldName = keyof typeof ASKED_FIELDS;

const FIELD_NAMES = Object.keys(ASKED_FIELDS) as FieldName[];

/**
 * Prompts for the missing fields of a request, then shows the whole request and asks whether to send it or to change a
 * field. Given fields are checked before the first prompt. Throws `usage`, `cancelled`.
 */
export async function askForRequest(context: KeysContext, given: RequestInput): Promise<Confirmed> {
  if (given.profile !== undefined) context.checkProfile(given as NamedProfile);
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
async function review(context: KeysContext, typed: CompleteRequest): Promise<Confirmed> {
  // The profile may have been renamed since the prompt.
  const request = { ...typed, ...context.findProfile(typed) };
  const perform = context.performUnlessChanged(request);
  const { successorOf } = request;
  const facts: [string, string][] = [
    ...(successorOf === undefined ? [] : [['Successor of', successorOf] as [string, string]]),
    ...FIELD_NAMES.map((field) => fieldText(ASKED_FIELDS[field], request[field])),
  ];
  notice(`\n${factsText(facts, columnsOf(process.stderr))}\n`);
  const choice = await askChoice('Send this request?', [
    { value: 'send', name: 'Send it' },
    ...FIELD_NAMES.map((field) => ({ value: field, name: `Change: ${titleOf(field)}` })),
    { value: 'cancel', name: 'Cancel' },
  ]);
  if (choice === 'send') return { request, perform };
  if (choice === 'cancel') throw new AppError('cancelled');
  return review(context, (await askFor(context, choice, request)) as CompleteRequest);
}

async function askFor(context: KeysContext, field: FieldName, request: RequestInput): Promise<RequestInput> {
  const isProfile = field === 'profile';
  const answer = await askField({
    schema: ASKED_FIELDS[field],
    initial: request[field] ?? (factsOf(ASKED_FIELDS[field]).kind === 'permissions' ? ['api.lookup'] : null),
    // The profile must also have a free slot.
    ...(isProfile && { check: (profile) => context.checkProfile({ profile: String(profile) }) }),
    nowMs: () => context.clock.nowMs(),
  });
  // From now on the profile is fixed, even if its name changes.
  return { ...request, ...(isProfile ? context.findProfile({ profile: String(answer) }) : { [field]: answer }) };
}

function titleOf(field: FieldName): string {
  return factsOf(ASKED_FIELDS[field]).title;
}
