import type { Person } from './actor.ts';
import type { Deps } from './deps.ts';
import { AppError } from './errors.ts';
import { approveKey, type BegunApproval, beginApproval } from './keys/approve.ts';
import { changeKey } from './keys/change.ts';
import type { KeyChange } from './keys/differing.ts';
import type { KeyRequestFields } from './keys/fields.ts';
import type { Grant } from './keys/granted.ts';
import { checkInput, FIELDS, type Field, optional } from './keys/input.ts';
import {
  editKey,
  type Outcome,
  type RequestSubject,
  rejectKey,
  requestKey,
  revokeKey,
  withdrawKey,
} from './keys/lifecycle.ts';
import { countPending, nextPending } from './keys/queue.ts';
import { readOwnerById, refuseBanned } from './keys/record.ts';
import { checkSight } from './keys/sight.ts';
import { type HistoryView, type KeyView, keyHistory, showKey } from './keys/view.ts';
import { sendOnce } from './notices/deliver.ts';
import { type ListInput, type ListOutput, listForPerson } from './usage/listed.ts';
import { keyUsage } from './usage/usage-view.ts';

/**
 * Which keys a kind of person may do something with. `all, asserted`: all, each time by an assertion of the admin's
 * passkey for exactly this. `own`: those of the person's own profile; `own, unless banned`: none while it is banned.
 */
export type Reach = 'all' | 'all, asserted' | 'own' | 'own, unless banned' | 'none';

/** Which keys each kind of person may do something with. */
export type Who = Record<Person['kind'], Reach>;

/** Something that people do with keys. Every door is made of these, and none has rules of its own about who may do what. */
export type Operation<Input extends object, Output> = {
  name: string;
  who: Who;
  input: { readonly [Name in keyof Input]-?: Field };
  /** Does it. Only {@link perform} calls this, after its checks; throws what the function for it in `keys/` throws. */
  act: (deps: Deps, actor: Person, input: Input) => Output | Promise<Output>;
};

/** What owners do with their own keys; the operator types it for owners who have no other way. */
const OWNERS_DO: Who = { operator: 'all', admin: 'none', owner: 'own', platform: 'none' };

/** Looking at keys, which changes nothing. */
const ALL_LOOK: Who = { operator: 'all', admin: 'all', owner: 'own', platform: 'none' };

/** Looking at the requests that wait, of whichever profile. */
const ADMINS_LOOK: Who = { ...ALL_LOOK, owner: 'none' };

/** Decisions, which nobody takes on a key of his own. */
const ADMINS_DECIDE: Who = { operator: 'all', admin: 'all, asserted', owner: 'none', platform: 'none' };

const { identifier, profile, name, description, permissions, reason } = FIELDS;

/** The inputs of a change and of an approval. */
const CHANGE = {
  identifier,
  permissions: optional(permissions),
  rateLimits: optional(FIELDS.rateLimits),
  expiresAtMs: optional(FIELDS.expiresAtMs),
};
const GRANT = { ...CHANGE, retireOldAtMs: optional(FIELDS.retireOldAtMs) };

/** The input of every operation on one key, at least. */
type OneKey = { identifier: string };

/** The table: every operation on keys, who may do it, what it needs and what it does. */
export const OPERATIONS = {
  request: operation<KeyRequestFields & RequestSubject, Outcome>({
    name: 'request',
    who: { ...OWNERS_DO, owner: 'own, unless banned' },
    input: {
      profile,
      profileId: optional(FIELDS.profileId),
      name,
      description,
      permissions,
      projectUrl: FIELDS.projectUrl,
      expectedUsage: FIELDS.expectedUsage,
      successorOf: optional(FIELDS.successorOf),
      formId: optional(FIELDS.formId),
    },
    act: (deps, by, input) => sendOnce(deps, requestKey(deps, { ...input, by })),
  }),
  list: operation<ListInput, ListOutput>({
    name: 'list',
    who: ALL_LOOK,
    input: {
      states: optional(FIELDS.states),
      profile: optional(profile),
      unusedForMs: optional(FIELDS.unusedForMs),
      limit: optional(FIELDS.limit),
      after: optional(FIELDS.after),
    },
    act: listForPerson,
  }),
  /** How many requests wait. */
  countPending: operation<object, number>({ name: 'countPending', who: ADMINS_LOOK, input: {}, act: countPending }),
  /** The request to decide on after this one, by its identifier. */
  nextPending: operation<OneKey, string | null>({
    ...{ name: 'nextPending', who: ADMINS_LOOK, input: { identifier } },
    act: (deps, _by, input) => nextPending(deps, input.identifier),
  }),
  show: operation<OneKey, { key: KeyView; history: HistoryView[] }>({
    name: 'show',
    who: ALL_LOOK,
    input: { identifier },
    act: (deps, { kind }, input) => ({
      key: showKey(deps, input.identifier, kind),
      history: keyHistory(deps, input.identifier, kind),
    }),
  }),
  usage: operation<OneKey & { days: number }, ReturnType<typeof keyUsage>>({
    name: 'usage',
    who: ALL_LOOK,
    input: { identifier, days: FIELDS.days },
    act: (deps, _by, input) => keyUsage(deps, input.identifier, input.days),
  }),
  edit: operation<OneKey & { name: string }, Outcome>({
    name: 'edit',
    who: { ...OWNERS_DO, owner: 'own, unless banned' },
    input: { identifier, name },
    act: (deps, by, input) => sendOnce(deps, editKey(deps, { ...input, by })),
  }),
  withdraw: operation<OneKey, Outcome>({
    name: 'withdraw',
    who: OWNERS_DO,
    input: { identifier },
    act: (deps, by, input) => withdrawKey(deps, { ...input, by }),
  }),
  approve: operation<OneKey & Grant, Outcome>({
    name: 'approve',
    who: ADMINS_DECIDE,
    input: GRANT,
    act: async (deps, by, { identifier, ...grant }) => {
      const mailedTo = await approveKey(deps, { identifier, grant, by });
      return { identifier, warning: null, mailedTo };
    },
  }),
  /** For pages, which are answered at once: whoever calls it has to finish the approval. */
  beginApproval: operation<OneKey & Grant, BegunApproval>({
    name: 'beginApproval',
    who: ADMINS_DECIDE,
    input: GRANT,
    act: (deps, by, { identifier, ...grant }) => beginApproval(deps, { identifier, grant, by }),
  }),
  change: operation<OneKey & KeyChange, Outcome>({
    name: 'change',
    who: ADMINS_DECIDE,
    input: CHANGE,
    act: (deps, by, { identifier, ...change }) => sendOnce(deps, changeKey(deps, { identifier, change, by })),
  }),
  reject: operation<OneKey & { reason: string }, Outcome>({
    name: 'reject',
    who: ADMINS_DECIDE,
    input: { identifier, reason },
    act: (deps, by, input) => sendOnce(deps, rejectKey(deps, { ...input, by })),
  }),
  revoke: operation<OneKey & { reason?: string | null }, Outcome>({
    name: 'revoke',
    who: { ...ADMINS_DECIDE, owner: 'own' },
    input: { identifier, reason: optional(reason) },
    act: (deps, by, input) => sendOnce(deps, revokeKey(deps, { ...input, by })),
  }),
};

/** Only for its types: that input, rules and act of an entry belong together. */
function operation<Input extends object, Output>(entry: Operation<Input, Output>): Operation<Input, Output> {
  return entry;
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
  checkInput(operation.input, input as Record<string, unknown>);
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
