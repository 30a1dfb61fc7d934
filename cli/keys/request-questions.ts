import type { Permission } from '../../shared/db/key-columns.ts';
import { AppError, faultOf } from '../../shared/errors.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { columnsOf, notice } from '../output.ts';
import { askChoice, askLongText, askPermissions, askText } from '../prompts.ts';
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

/** The fields of a request and their labels, in the order in which they are asked for and shown. */
const LABELS = {
  profile: 'Profile',
  name: 'Name of the key',
  description: 'Description',
  permissions: 'Permissions',
  projectUrl: 'Project URL',
  expectedUsage: 'Expected usage',
} as const satisfies Record<keyof Omit<RequestInput, Unasked>, string>;

type FieldName = keyof typeof LABELS;

const FIELD_NAMES = Object.keys(LABELS) as FieldName[];

/**
 * Asks for the missing fields of a request and checks each answer as it is typed. Then it shows the whole request and asks
 * whether to send it or to change a field. Given fields are checked before anything is asked. Throws `usage`, `cancelled`.
 */
export async function askForRequest(context: KeysContext, given: RequestInput): Promise<Asked> {
  if (given.profile !== undefined) context.checkProfile(given as NamedProfile);
  for (const field of FIELD_NAMES.filter((name) => name !== 'profile')) {
    const fault = given[field] === undefined ? null : ruleOf(context, field)(given[field]);
    if (fault !== null) throw new AppError('usage', fault);
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
    ...FIELD_NAMES.map((field): [string, string] => [LABELS[field], String(request[field]) || '–']),
  ];
  notice(`\n${factsText(facts, columnsOf(process.stderr))}\n`);
  const choice = await askChoice('Send this request?', [
    { value: 'send', name: 'Send it' },
    ...FIELD_NAMES.map((field) => ({ value: field, name: `Change: ${LABELS[field]}` })),
    { value: 'cancel', name: 'Cancel' },
  ]);
  if (choice === 'send') return { request, perform };
  if (choice === 'cancel') throw new AppError('cancelled');
  return review(context, (await askFor(context, choice, request)) as Whole);
}

/** Asks for one field again, beginning with its present value. Returns the changed request. */
async function askFor(context: KeysContext, field: FieldName, request: RequestInput): Promise<RequestInput> {
  const message = LABELS[field];
  if (field === 'permissions') {
    return { ...request, permissions: await askPermissions(message, request.permissions ?? ['api.lookup']) };
  }
  const ask = field === 'description' || field === 'expectedUsage' ? askLongText : askText;
  const initial = request[field] ?? '';
  const answer = await ask({ message, hint: HINTS[field], initial, fault: ruleOf(context, field) });
  // From then on the profile is the one that the name leads to now.
  return { ...request, ...(field === 'profile' ? context.findProfile({ profile: answer }) : { [field]: answer }) };
}

const HINTS = {
  profile: 'Its username or an alias.',
  name: '1 to 255 characters; it can be changed later.',
  description: 'What is it for? 80 to 2000 characters.',
  projectUrl: 'Optional: Enter for none.',
  expectedUsage: 'Optional: Enter for none.',
} as const;

/** The rule of a field: that of the operation. A profile must also be able to have one more key. */
function ruleOf({ checkProfile }: KeysContext, field: FieldName): (value: unknown) => string | null {
  if (field === 'profile') return (value) => faultOf(() => checkProfile({ profile: String(value) }));
  return OPERATIONS.request.input[field].fault;
}
