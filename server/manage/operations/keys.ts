import { z } from 'zod';
import { isoTime } from '../../../shared/clock.ts';
import { AppError } from '../../../shared/errors.ts';
import { parseSpan } from '../../../shared/keys/expiry.ts';
import { factsOf } from '../../../shared/keys/input-facts.ts';
import { readTyped } from '../../../shared/keys/input-text.ts';
import { FIELDS } from '../../../shared/keys/inputs.ts';
import { readOwnerById } from '../../../shared/keys/record.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { checkReach, OPERATIONS, type Operation } from '../../../shared/operations.ts';
import { performHere } from '../../developers/perform.ts';
import { type Answered, type Call, personTokenOf } from '../call.ts';

// Keys, as the person whose token it is may see and change them. Each throws what `perform` throws.

/** The path of all keys. */
export const KEYS_PATH = '/manage/v1/keys';

/** The path of one. */
export const KEY_PATH = `${KEYS_PATH}/:identifier`;

/** The parameters of {@link list}. */
export const LIST_PARAMETERS = ['state', 'profile', 'unused', 'cursor'] as const;

/** The body of an operation on a key: its input but for the identifier, which the path has. */
export function bodyOf({ input }: Operation<object, unknown>): z.ZodObject {
  const { identifier: _, ...members } = input.shape;
  return z.strictObject(members);
}

const { profileId: _profileId, formId: _formId, ...REQUEST_MEMBERS } = OPERATIONS.request.input.shape;

/** The body of {@link request}: an owner may leave the profile out. */
export const REQUEST_BODY = z.strictObject({ ...REQUEST_MEMBERS, profile: FIELDS.profile.optional() });

/** So many keys stand on one page. */
const PAGE_SIZE = 50;

/** For so many days usage is told where nobody says for how many. */
const USUAL_DAYS = 30;

/** `GET /manage/v1/keys`: a page of keys, with a Link header to the next one (RFC 8288). Throws `bad_parameter`. */
export async function list(call: Call): Promise<Answered> {
  const { query } = call;
  const states = query.get('state')?.split(',');
  const unused = query.get('unused');
  if (unused !== undefined && states !== undefined) {
    throw new AppError('bad_parameter', 'unused is about Active keys; leave state out.');
  }
  const unusedForMs = unused === undefined ? undefined : parseSpan(unused);
  if (unusedForMs === null) throw new AppError('bad_parameter', 'unused must be a span such as 90d or 12h.');
  const input = { states, profile: query.get('profile'), unusedForMs, limit: PAGE_SIZE, after: query.get('cursor') };
  const { keys, lastUses, next } = await namingParameters(performFor(call, OPERATIONS.list, input));
  return {
    headers: next === null ? {} : { Link: linkTo(call, next) },
    body: { keys, lastUses: Object.fromEntries([...lastUses].map(([key, atMs]) => [key, isoTime(atMs)])) },
  };
}

/** `POST /manage/v1/keys`: asks for a key; an owner may leave the profile out. */
export async function request(call: Call): Promise<Answered> {
  const { access, body } = call;
  const { person } = personTokenOf(call);
  const own = person.kind === 'owner' ? readOwnerById(access.db, person.profileId).username : undefined;
  const input = { ...body, profile: body.profile ?? own };
  const { identifier } = await performFor(call, OPERATIONS.request, input);
  const location = `${access.config.publicUrl}${KEYS_PATH}/${identifier}`;
  return { status: CREATED, headers: { Location: location }, body: await keyOf(call, identifier) };
}

const CREATED = 201;

/** `GET /manage/v1/keys/{identifier}`: the key with its history. */
export async function show(call: Call): Promise<Answered> {
  const { key, history } = await performFor(call, OPERATIONS.show, { identifier: identifierOf(call) });
  return { body: { ...key, history } };
}

/** `PATCH /manage/v1/keys/{identifier}`: renames it. */
export async function rename(call: Call): Promise<Answered> {
  return changed(call, OPERATIONS.edit, { identifier: identifierOf(call), name: call.body.name });
}

/** `GET /manage/v1/keys/{identifier}/usage`: what it was used for, by day. Throws `bad_parameter`. */
export async function usage(call: Call): Promise<Answered> {
  const days = readTyped(
    factsOf(FIELDS.days),
    [call.query.get('days') ?? String(USUAL_DAYS)],
    call.access.clock.nowMs(),
  );
  const input = { identifier: identifierOf(call), days };
  return { body: await namingParameters(performFor(call, OPERATIONS.usage, input)) };
}

/** `POST /manage/v1/keys/{identifier}/withdraw`: takes a pending request back. */
export async function withdraw(call: Call): Promise<Answered> {
  return changed(call, OPERATIONS.withdraw, { identifier: identifierOf(call) });
}

/** `POST /manage/v1/keys/{identifier}/revoke`: an owner's own, with a reason or without. An admin is sent to the key's page. */
export async function revoke(call: Call): Promise<Answered> {
  if (personTokenOf(call).person.kind === 'admin') return decidedOnPage('revoke')(call);
  return changed(call, OPERATIONS.revoke, { identifier: identifierOf(call), reason: call.body.reason });
}

/**
 * What answers `POST /manage/v1/keys/{identifier}/approve` and its like, whatever the body is: nobody decides by a token. An
 * admin is told, as `decision_needed`, the address of the page on which that is done; throws it, `forbidden` for everybody
 * else, and `not_found`.
 */
export function decidedOnPage(
  operation: 'approve' | 'reject' | 'change' | 'revoke',
): (call: Call) => Promise<Answered> {
  return async (call) => {
    const { access } = call;
    const identifier = identifierOf(call);
    checkReach(access, personTokenOf(call).person, OPERATIONS[operation], { identifier });
    const { publicUrl } = access.config;
    throw new AppError('decision_needed', null, { address: `${publicUrl}/developers/admin/keys/${identifier}` });
  };
}

/** The identifier in the path. */
function identifierOf({ params }: Pick<Call, 'params'>): string {
  return params.identifier as string;
}

/** Does an operation as the person whose token it is. No request waits for a mail server. */
export function performFor<Input extends object, Output>(
  call: Call,
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  return performHere({ access: call.access, person: personTokenOf(call).person }, operation, input);
}

/** A key as this person may see it. */
async function keyOf(call: Call, identifier: string): Promise<KeyView> {
  return (await performFor(call, OPERATIONS.show, { identifier })).key;
}

/** Does an operation that changes a key, and answers with the key as it is then. */
async function changed<Input extends object>(
  call: Call,
  operation: Operation<Input, unknown>,
  input: Input & { identifier: string },
): Promise<Answered> {
  await performFor(call, operation, input);
  return { body: await keyOf(call, input.identifier) };
}

/** What is wrong with the input of an operation that is asked for by parameters is wrong with a parameter. */
async function namingParameters<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof AppError && error.code === 'usage') throw new AppError('bad_parameter', error.message);
    throw error;
  }
}

/** The Link to the page of the list that begins after a place, with the same filters. */
function linkTo({ access, query }: Call, after: string): string {
  const parameters = new URLSearchParams([...query].filter(([name]) => name !== 'cursor'));
  parameters.set('cursor', after);
  return `<${access.config.publicUrl}${KEYS_PATH}?${parameters.toString()}>; rel="next"`;
}
