import type { Person } from '../../../shared/actor.ts';
import { isoTime } from '../../../shared/clock.ts';
import { AppError } from '../../../shared/errors.ts';
import { factsOf } from '../../../shared/keys/fields/input-facts.ts';
import { readTyped } from '../../../shared/keys/fields/input-text.ts';
import { USUAL_PAGE_LENGTH } from '../../../shared/keys/fields/inputs.ts';
import { keyVersion } from '../../../shared/keys/key-version.ts';
import type { Outcome } from '../../../shared/keys/life/move.ts';
import { readOwnerById } from '../../../shared/keys/record.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { type AnyOperation, type JsonDoor, type Operation, queryInputs } from '../../../shared/operations/entry.ts';
import { isDecision } from '../../../shared/operations/who.ts';
import { ALL_OPERATIONS, checkReach, OPERATIONS } from '../../../shared/operations.ts';
import type { UsageView } from '../../../shared/usage/usage-view.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import { type AdmittedCall, type Call, type JsonAnswer, type ManageRoute, personTokenOf } from '../request-context.ts';

// Operations on keys, performed as the person whose token it is, by routes made from their table. All throw as `perform`.

/** The path of all keys. */
export const KEYS_PATH = '/manage/v1/keys';

/** The routes of keys, for people. `shared/operations.ts` defines who may do what. */
export const KEY_ROUTES: readonly ManageRoute[] = ALL_OPERATIONS.flatMap((operation): ManageRoute[] => {
  const { json } = operation.doors;
  if (json === null) return [];
  return [
    {
      method: json.method,
      path: `${KEYS_PATH}${json.path}`,
      who: 'person',
      refuse: (call) => refuseCaller(call, operation),
      members: json.body ?? null,
      query: queryInputs(operation.input, json).map(([parameter]) => parameter),
      act: (call) => answerOperation(call, operation, json),
    },
  ];
});

/**
 * Throws `forbidden` if the caller can never perform an operation, `not_found` for a key that they may not see, and
 * `decision_needed`, with the URL of the page, if they would have to confirm it by passkey.
 */
function refuseCaller({ access, caller, params }: AdmittedCall, operation: AnyOperation): void {
  const { person } = personTokenOf({ caller });
  checkReach(access, person, operation, params);
  if (person.kind !== 'admin' || !isDecision(operation)) return;
  const address = `${access.config.publicUrl}/developers/admin/keys/${params.identifier}`;
  throw new AppError('decision_needed', null, { address });
}

async function answerOperation(call: Call, operation: AnyOperation, door: JsonDoor): Promise<JsonAnswer> {
  const answer = async () => ANSWERS[door.answers](call, operation, inputOf(call, operation, door));
  return door.method === 'GET' ? namingParameters(answer) : answer();
}

/** The input of an operation from the path, the query and the body. */
function inputOf(
  { params, query, body, access }: Call,
  { input }: AnyOperation,
  door: JsonDoor,
): Record<string, unknown> {
  const fromQuery = queryInputs(input, door).flatMap(([parameter, name, schema]) => {
    const text = query.get(parameter);
    return text === undefined ? [] : [[name, readTyped(factsOf(schema), [text], access.clock.nowMs())] as const];
  });
  return { ...body, ...Object.fromEntries(fromQuery), ...params };
}

type Answer = (call: Call, operation: AnyOperation, input: Record<string, unknown>) => Promise<JsonAnswer>;

const ANSWERS: Readonly<Record<JsonDoor['answers'], Answer>> = {
  key: async (call, operation, input) => {
    await performFor(call, operation, input);
    return { body: await keyOf(call, identifierOf(call)) };
  },
  /** An owner may omit the profile. */
  'new key': async (call, operation, input) => {
    const { access } = call;
    const { person } = personTokenOf(call);
    const own = person.kind === 'owner' ? readOwnerById(access.db, person.profileId).username : undefined;
    const { identifier } = (await performFor(call, operation, { ...input, profile: input.profile ?? own })) as Outcome;
    const location = `${access.config.publicUrl}${KEYS_PATH}/${identifier}`;
    return { status: CREATED, headers: { Location: location }, body: await keyOf(call, identifier) };
  },
  /** The ETag is to be sent back in If-Match. */
  'key with history': async (call) => {
    const identifier = identifierOf(call);
    // Read first: if the key changes in between, this is the version before the change.
    const version = keyVersion(call.access, identifier);
    const { key, history } = await performFor(call, OPERATIONS.show, { identifier });
    return { headers: { ETag: `"${version}"` }, body: { ...key, history } };
  },
  usage: async (call, operation, input) => ({ body: (await performFor(call, operation, input)) as UsageView }),
  /** The Link header leads to the next page (RFC 8288). */
  list: async (call, _operation, input) => {
    const asked = { limit: USUAL_PAGE_LENGTH, ...input };
    const { keys, lastUses, next } = await performFor(call, OPERATIONS.list, asked);
    return {
      headers: next === null ? {} : { Link: linkTo(call, next) },
      body: {
        keys,
        next: next === null ? null : keys.at(-1)?.identifier,
        lastUses: Object.fromEntries([...lastUses].map(([key, atMs]) => [key, isoTime(atMs)])),
      },
    };
  },
};

const CREATED = 201;

function identifierOf({ params }: Pick<Call, 'params'>): string {
  return params.identifier as string;
}

/** Performs an operation as the person whose token it is, without waiting for a mail server. */
function performFor<Input extends object, Output>(
  call: Call,
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  return performWhenUnlocked({ ...call, person: personOf(call) }, operation, input);
}

/**
 * The person whose token it is, with the version of the key that they were shown, if If-Match has it. Throws `bad_parameter` if
 * If-Match is anything else than one ETag of a key.
 */
function personOf(call: Call): Person {
  const { person } = personTokenOf(call);
  const sent = call.request.headers.get('if-match');
  if (person.kind !== 'owner' || sent === null || sent === '*') return person;
  const keyVersion = KEY_TAG.exec(sent)?.[1];
  if (keyVersion === undefined) throw new AppError('bad_parameter', 'If-Match must be the ETag of the key.');
  return { ...person, keyVersion };
}

/** A key's version (shared/shown-version.ts) as a tag. Proxies that compress mark it as weak (nginx) or append the coding (Caddy). */
const KEY_TAG = /^(?:W\/)?"(\w+=[\w-]{16}(?:,\w+=[\w-]{16})*)(?:-(?:gzip|br|zstd))?"$/;

async function keyOf(call: Call, identifier: string): Promise<KeyView> {
  return (await performFor(call, OPERATIONS.show, { identifier })).key;
}

/** Turns the `usage` error of a GET, whose input comes from parameters, into `bad_parameter`. */
async function namingParameters<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof AppError && error.code === 'usage') throw new AppError('bad_parameter', error.message);
    throw error;
  }
}

function linkTo({ access, query }: Call, cursor: string): string {
  const parameters = new URLSearchParams([...query].filter(([name]) => name !== 'after'));
  parameters.set('after', cursor);
  return `<${access.config.publicUrl}${KEYS_PATH}?${parameters.toString()}>; rel="next"`;
}
