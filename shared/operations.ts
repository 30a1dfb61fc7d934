import { z } from 'zod';
import type { Person } from './actor.ts';
import type { Deps } from './deps.ts';
import { AppError } from './errors.ts';
import { approveKey, beginApproval } from './keys/approve.ts';
import { changeKey } from './keys/change.ts';
import { GRANT, KEY_CHANGE, KEY_REQUEST, LIST_FILTER } from './keys/input-groups.ts';
import { FIELDS, OPTIONAL_REASON } from './keys/inputs.ts';
import { editKey, rejectKey, requestKey, revokeKey, withdrawKey } from './keys/lifecycle.ts';
import { parseInput } from './keys/parse-input.ts';
import { countPending, nextPending } from './keys/queue.ts';
import { readOwnerById, refuseBanned } from './keys/record.ts';
import { checkSight } from './keys/sight.ts';
import { keyHistory, showKey } from './keys/view.ts';
import { sendOnce } from './notices/deliver.ts';
import { listForPerson } from './usage/listed.ts';
import { keyUsage } from './usage/usage-view.ts';

/**
 * Which keys a kind of person may do something with. `all, asserted`: all, each time by an assertion of the admin's
 * passkey for exactly this. `own`: those of the person's own profile; `own, unless banned`: none while it is banned.
 */
export type Reach = 'all' | 'all, asserted' | 'own' | 'own, unless banned' | 'none';

/** Which keys each kind of person may do something with. */
export type Who = Record<Person['kind'], Reach>;

/** What a door hands over for an operation: the names are known, the values are checked by the schema. */
export type Sent<Shape extends z.ZodRawShape> = { readonly [Name in keyof Shape]?: unknown };

/** Something that people do with keys. Every door is made of these, and none has rules of its own about who may do what. */
export type Operation<Input extends object, Output> = {
  name: string;
  who: Who;
  /** Of `FIELDS` of `keys/inputs.ts`, each required or not. */
  input: z.ZodObject;
  /** Where a kind of person may leave out less than {@link input} says. */
  inputOf: Partial<Record<Person['kind'], z.ZodObject>>;
  /**
   * Checks and trims the input, and does it. Only {@link perform} calls this, after its checks; throws `usage`, and what the
   * function for it in `keys/` throws.
   */
  act(deps: Deps, actor: Person, input: Input): Output | Promise<Output>;
};

/** What owners do with their own keys; the operator types it for owners who have no other way. */
const OWNERS_DO: Who = { operator: 'all', admin: 'none', owner: 'own', platform: 'none' };

/** Looking at keys, which changes nothing. */
const ALL_LOOK: Who = { operator: 'all', admin: 'all', owner: 'own', platform: 'none' };

/** Looking at the requests that wait, of whichever profile. */
const ADMINS_LOOK: Who = { ...ALL_LOOK, owner: 'none' };

/** Decisions, which nobody takes on a key of his own. */
const ADMINS_DECIDE: Who = { operator: 'all', admin: 'all, asserted', owner: 'none', platform: 'none' };

const { identifier, profile, name, reason } = FIELDS;

const ONE_KEY = z.object({ identifier });
const WITH_REASON = z.object({ identifier, reason });

/** The table: every operation on keys, who may do it, what it needs and what it does. */
export const OPERATIONS = {
  request: operation({
    name: 'request',
    who: { ...OWNERS_DO, owner: 'own, unless banned' },
    input: z.object({
      profile,
      profileId: FIELDS.profileId.nullish(),
      ...KEY_REQUEST.shape,
      successorOf: FIELDS.successorOf,
      formId: FIELDS.formId,
    }),
    act: (deps, by, input) => sendOnce(deps, requestKey(deps, { ...input, by })),
  }),
  list: operation({
    name: 'list',
    who: ALL_LOOK,
    input: LIST_FILTER,
    act: listForPerson,
  }),
  /** How many requests wait. */
  countPending: operation({
    name: 'countPending',
    who: ADMINS_LOOK,
    input: z.object({}),
    act: (deps) => countPending(deps),
  }),
  /** The request to decide on after this one, by its identifier. */
  nextPending: operation({
    ...{ name: 'nextPending', who: ADMINS_LOOK, input: ONE_KEY },
    act: (deps, _by, input) => nextPending(deps, input.identifier),
  }),
  show: operation({
    name: 'show',
    who: ALL_LOOK,
    input: ONE_KEY,
    act: (deps, { kind }, input) => ({
      key: showKey(deps, input.identifier, kind),
      history: keyHistory(deps, input.identifier, kind),
    }),
  }),
  usage: operation({
    name: 'usage',
    who: ALL_LOOK,
    input: z.object({ identifier, days: FIELDS.days }),
    act: (deps, _by, input) => keyUsage(deps, input.identifier, input.days),
  }),
  edit: operation({
    name: 'edit',
    who: { ...OWNERS_DO, owner: 'own, unless banned' },
    input: z.object({ identifier, name }),
    act: (deps, by, input) => sendOnce(deps, editKey(deps, { ...input, by })),
  }),
  withdraw: operation({
    name: 'withdraw',
    who: OWNERS_DO,
    input: ONE_KEY,
    act: (deps, by, input) => withdrawKey(deps, { ...input, by }),
  }),
  approve: operation({
    name: 'approve',
    who: ADMINS_DECIDE,
    input: z.object({ identifier, ...GRANT.shape }),
    act: async (deps, by, { identifier, ...grant }) => {
      const mailedTo = await approveKey(deps, { identifier, grant, by });
      return { identifier, warning: null, mailedTo };
    },
  }),
  /** For pages, which are answered at once: whoever calls it has to finish the approval. */
  beginApproval: operation({
    name: 'beginApproval',
    who: ADMINS_DECIDE,
    input: z.object({ identifier, ...GRANT.shape }),
    act: (deps, by, { identifier, ...grant }) => beginApproval(deps, { identifier, grant, by }),
  }),
  change: operation({
    name: 'change',
    who: ADMINS_DECIDE,
    input: z.object({ identifier, ...KEY_CHANGE.shape }),
    act: (deps, by, { identifier, ...change }) => sendOnce(deps, changeKey(deps, { identifier, change, by })),
  }),
  reject: operation({
    name: 'reject',
    who: ADMINS_DECIDE,
    input: WITH_REASON,
    act: (deps, by, input) => sendOnce(deps, rejectKey(deps, { ...input, by })),
  }),
  revoke: operation({
    name: 'revoke',
    who: { ...ADMINS_DECIDE, owner: 'own' },
    input: z.object({ identifier, reason: OPTIONAL_REASON }),
    inputOf: { operator: WITH_REASON, admin: WITH_REASON },
    act: (deps, by, input) => sendOnce(deps, revokeKey(deps, { ...input, by })),
  }),
};

type Entry<Shape extends z.ZodRawShape, Output> = Pick<Operation<object, Output>, 'name' | 'who'> & {
  input: z.ZodObject<Shape>;
  inputOf?: Operation<object, Output>['inputOf'];
  act: (deps: Deps, actor: Person, input: z.output<z.ZodObject<Shape>>) => Output | Promise<Output>;
};

/** An operation whose act gets its input as the schema makes it. */
function operation<Shape extends z.ZodRawShape, Output>(entry: Entry<Shape, Output>): Operation<Sent<Shape>, Output> {
  const { input, inputOf = {}, act } = entry;
  return {
    ...entry,
    inputOf,
    act: (deps, actor, sent) => {
      parseInput(inputOf[actor.kind] ?? input, sent);
      return act(deps, actor, parseInput(input, sent));
    },
  };
}

/** The schema of an operation's input as a kind of person has to give it. */
export function inputFor({ input, inputOf }: Operation<object, unknown>, kind: Person['kind']): z.ZodObject {
  return inputOf[kind] ?? input;
}

/**
 * Lets a person do something. Checked in this order: may this kind of person do it at all (`forbidden`, whatever the
 * input is about); does he see this key or profile (`not_found`, with the sentence for one that does not exist); is the
 * input as it must be (`usage`); then the operation's own rules.
 */
export async function perform<Input extends object, Output>(
  deps: Deps,
  actor: Person,
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  const lacksAssertion =
    operation.who[actor.kind] === 'all, asserted' && !(actor.kind === 'admin' && actor.hasAsserted);
  if (lacksAssertion) throw new AppError('forbidden');
  checkReach(deps, actor, operation, input);
  return operation.act(deps, actor, input);
}

/** Throws the `forbidden` and `not_found` of {@link perform}, but asks an admin for no assertion. */
export function checkReach(deps: Deps, actor: Person, { who }: { who: Who }, input: object): void {
  const reach = who[actor.kind];
  if (reach === 'none')
    throw new AppError('forbidden', `Only ${who.owner === 'none' ? 'admins' : 'owners'} can do this.`);
  checkSight(deps.db, actor, input);
  if (actor.kind === 'owner' && reach === 'own, unless banned') refuseBanned(readOwnerById(deps.db, actor.profileId));
}
