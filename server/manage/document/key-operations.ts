import { z } from 'zod';
import { Key, KeyList, KeyUsage, KeyWithHistory } from '../../../shared/api/key-bodies.ts';
import { factsOf, valuesOf } from '../../../shared/keys/fields/input-facts.ts';
import { noSuchKey } from '../../../shared/keys/unknown-key.ts';
import { type AnyOperation, type JsonDoor, queryInputs } from '../../../shared/operations/entry.ts';
import { isDecision } from '../../../shared/operations/who.ts';
import { ALL_OPERATIONS } from '../../../shared/operations.ts';
import { noSuchProfile } from '../../../shared/profiles/find.ts';
import { ownHeader } from '../../docs/openapi/headers.ts';
import { KEYS_PATH } from '../operations/keys.ts';
import type { ManageDoc } from './operations.ts';

// The documentation of the operations on keys, generated from their table.

const identifier = z.string().meta({ param: { description: 'The 8 characters that name the key.' } });

const IF_MATCH = z.object({
  'If-Match': z
    .string()
    .optional()
    .meta({
      param: {
        description:
          'The `ETag` of the key that the person was shown. If the key has changed since, nothing is done, and the response is a 409 `changed_since` that says what has changed.',
      },
    }),
});

const ANSWERS: Readonly<Record<JsonDoor['answers'], Pick<ManageDoc, 'body' | 'headers' | 'statuses'>>> = {
  key: { body: Key },
  'new key': {
    statuses: [201],
    body: Key,
    headers: { Location: ownHeader(z.url(), 'The URL of the key.') },
  },
  'key with history': {
    body: KeyWithHistory,
    headers: {
      ETag: ownHeader(
        z.string().regex(/^"[^"]+"$/),
        'The version of the key, for `If-Match`. It changes with everything that a person’s decision depends on.',
      ),
    },
  },
  list: {
    body: KeyList,
    headers: {
      Link: ownHeader(z.string().optional(), 'The next page, with `rel="next"` (RFC 8288); absent on the last page.'),
    },
  },
  usage: { body: KeyUsage },
};

/** The operations on keys by their methods and paths. */
export const KEY_DOCS: Record<string, ManageDoc> = Object.fromEntries(
  ALL_OPERATIONS.flatMap((operation): [string, ManageDoc][] => {
    const { json } = operation.doors;
    return json === null ? [] : [[`${json.method} ${KEYS_PATH}${json.path}`, docOf(operation, json)]];
  }),
);

function docOf(operation: AnyOperation, json: JsonDoor): ManageDoc {
  const { summary, who, event } = operation;
  const isPageOnly = isDecision(operation) && who.owner === 'none';
  const query = queryInputs(operation.input, json).map(([parameter, , schema]) => [parameter, parameterOf(schema)]);
  const isConfirmed = event !== null && json.path !== '' && !isPageOnly;
  const parameters = {
    ...(isConfirmed && { header: IF_MATCH }),
    ...(json.path !== '' && { path: z.object({ identifier }) }),
    ...(query.length > 0 && { query: z.object(Object.fromEntries(query)) }),
  };
  return {
    ...{ operationId: json.operationId, description: json.description, parameters },
    summary: json.summary ?? summary.replace(/\.$/, ''),
    ...(json.body && { request: { type: 'application/json', schema: bodyOf(operation, json.body) } }),
    ...ANSWERS[json.answers],
    ...(isPageOnly && { statuses: [] }),
    thrown: { not_found: json.path === '' ? noSuchProfile() : noSuchKey() },
    refusals: [
      ...(json.body ? (['bad_body', 'body_too_long', 'not_json'] as const) : []),
      ...(event !== null && !isPageOnly ? (['not_possible'] as const) : []),
      ...(isConfirmed ? (['changed_since'] as const) : []),
      ...(who.owner === 'own, unless banned' ? (['too_many_requests'] as const) : []),
      ...(isDecision(operation) ? (['decision_needed'] as const) : []),
    ],
  };
}

/** A query parameter in the notation in which people type it: the items of a list are separated by commas. */
function parameterOf(schema: z.ZodType): z.ZodType {
  const { kind, flag, inQuery: meaning } = factsOf(schema);
  const [first = '', ...rest] = flag?.[1] ?? '';
  const param = {
    description: meaning ?? `${first.toUpperCase()}${rest.join('')}.`,
    ...(kind === 'states' && { style: 'form' as const, explode: false }),
  };
  return (valuesOf(schema) as z.ZodType).optional().meta({ param });
}

/** The members of a body; `profile` is optional, because owners may omit it. */
function bodyOf({ input }: AnyOperation, names: readonly string[]): z.ZodObject {
  const members = names.map((name) => [name, name === 'profile' ? input.shape[name]?.optional() : input.shape[name]]);
  return z.strictObject(Object.fromEntries(members));
}
