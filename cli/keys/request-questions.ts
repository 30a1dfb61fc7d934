import type { z } from 'zod';
import type { Permission } from '../../shared/db/key-columns.ts';
import { AppError } from '../../shared/errors.ts';
import { factsOf } from '../../shared/keys/fields/input-facts.ts';
import { KEY_REQUEST } from '../../shared/keys/fields/input-groups.ts';
import { FIELDS } from '../../shared/keys/fields/inputs.ts';
import { parseInput } from '../../shared/keys/fields/parse-input.ts';
import { columnsOf, notice } from '../terminal/output.ts';
import { askChoice } from '../terminal/prompts.ts';
import { askField, fieldText } from './ask.ts';
import type { KeysContext, NamedProfile, Perform } from './context.ts';
import { factsText } from './print.ts';

/** The fields of a request: at first those given by flags, later also those asked for. */
export type RequestInput = {
  profile?: string;
  /** On the box, the UID of the profile that the name has led to. */
  profileId?: number | undefined;
  name?: string;
  description?: string;
  permissions?: Permission[];
  projectUrl?: string;
  expectedUsage?: string;
  /** The key that this one is to replace: shown, and never asked for. */
  successorOf?: string;
};

/** What is never asked for. */
type Unasked = 'profileId' | 'successorOf';

/** A request with all of its fields. */
type Whole = Required<Omit<RequestInput, Unasked>> & Pick<RequestInput, Unasked>;

/** A request that is to be sent, and what does so as long as its profile is as it was shown. */
type Asked = { request: Whole; perform: Perform };

/** The fields of a request that are asked for, in this order. */
const ASKED = { profile: FIELDS.profile, ...KEY_REQUEST.shape } as const satisfies Record<
  keyof Omit<RequestInput, Unasked>,
  z.ZodType
>;

type FieldName = keyof typeof ASKED;

const FIELD_NAMES = Object.keys(ASKED) as FieldName[];

/**
 * Asks for the missing fields of a request and checks each answer as it is typed. Then it shows the whole request and asks
 * whether to send it or to change a field. Given fields are checked before anything is asked. Throws `usage`, `cancelled`.
 */
export async function askForRequest(context: KeysContext, given: RequestInput): Promise<Asked> {
  if (given.profile !== undefined) context.checkProfile(given as NamedProfile);
  for (const field of FIELD_NAMES) {
    if (given[field] !== undefined) parseInput(ASKED[field], given[field]);
  }
  let request = { ...given };
  for (const field of FIELD_NAMES) {
    if (request[field] === undefined) request = await askFor(context, field, request);
  }
  return review(context, request as Whole);
}

/** Shows the whole request, and again after each change, until the person sends it. Throws `cancelled`, `not_found`. */
async function review(context: KeysContext, typed: Whole): Promise<Asked> {
  // The profile may have got another name since it was asked for.
  const request = { ...typed, ...context.findProfile(typed) };
  const perform = context.performAsNow(request);
  const { successorOf } = request;
  const facts: [string, string][] = [
    ...(successorOf === undefined ? [] : [['Successor of', successorOf] as [string, string]]),
    ...FIELD_NAMES.map((field) => fieldText(ASKED[field], request[field])),
  ];
  notice(`\n${factsText(facts, columnsOf(process.stderr))}\n`);
  const choice = await askChoice('Send this request?', [
    { value: 'send', name: 'Send it' },
    ...FIELD_NAMES.map((field) => ({ value: field, name: `Change: ${titleOf(field)}` })),
    { value: 'cancel', name: 'Cancel' },
  ]);
  if (choice === 'send') return { request, perform };
  if (choice === 'cancel') throw new AppError('cancelled');
  return review(context, (await askFor(context, choice, request)) as Whole);
}

/** Asks for one field again, beginning with its present value. Returns the changed request. */
async function askFor(context: KeysContext, field: FieldName, request: RequestInput): Promise<RequestInput> {
  const isProfile = field === 'profile';
  const answer = await askField({
    schema: ASKED[field],
    initial: request[field] ?? (field === 'permissions' ? ['api.lookup'] : null),
    // A profile must also be able to have one more key.
    ...(isProfile && { check: (profile) => context.checkProfile({ profile: String(profile) }) }),
    nowMs: () => context.clock.nowMs(),
  });
  // From then on the profile is the one that the name leads to now.
  return { ...request, ...(isProfile ? context.findProfile({ profile: String(answer) }) : { [field]: answer }) };
}

function titleOf(field: FieldName): string {
  return factsOf(ASKED[field]).title;
}
