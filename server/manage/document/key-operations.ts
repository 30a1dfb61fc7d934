import { KEY_STATES } from '../../../shared/db/key-columns.ts';
import { USAGE_DAYS } from '../../../shared/keys/fields.ts';
import type { Parameter, Schema } from '../../api-doc/document/types.ts';
import { KEY_PATH, KEYS_PATH } from '../operations/keys.ts';
import {
  CHANGE_BODY,
  GRANT_BODY,
  KEY,
  KEY_LIST,
  NAME_BODY,
  REASON_BODY,
  REQUEST_BODY,
  REVOCATION_BODY,
  text,
  USAGE,
} from './key-schemas.ts';
import type { ManageDoc } from './operations.ts';

// What the document says of the operations on keys.

const inQuery = (name: string, description: string, schema: Schema): Parameter => ({
  name,
  in: 'query',
  required: false,
  description,
  schema,
});

const THE_KEY: Parameter = {
  name: 'identifier',
  in: 'path',
  required: true,
  description: 'The 8 characters that name the key.',
  schema: text,
};

const json = (schema: Schema) => ({ type: 'application/json', schema });

/** The refusals of everything that is about one key, and of what takes a body. */
const OF_KEY = ['not_found'] as const;
const OF_BODY = ['bad_body', 'body_too_long', 'not_json'] as const;

const DECIDING =
  'The first answer to an admin is 403 `decision_needed` with an `address`, where the admin lets exactly this through by a passkey within five minutes. Send the same request again, every two seconds say: it is answered the same until then, and once it is let through it is carried out, once.';

/** A decision of admins. */
function decisionDoc(doc: Pick<ManageDoc, 'operationId' | 'summary' | 'description' | 'request'>): ManageDoc {
  return {
    ...doc,
    description: `${doc.description} ${DECIDING}`,
    parameters: [THE_KEY],
    statuses: [202],
    body: KEY,
    refusals: [
      ...OF_KEY,
      ...OF_BODY,
      ...(['not_possible', 'decision_needed', 'decision_refused', 'changed_since', 'too_many_challenges'] as const),
    ],
  };
}

/** The operations on keys by their methods and paths. */
export const KEY_DOCS: Record<string, ManageDoc> = {
  [`GET ${KEYS_PATH}`]: {
    operationId: 'listKeys',
    summary: 'List keys',
    description:
      'Pending ones first, each group the oldest first, 50 on a page; an owner’s own only. `Link` leads to the next page, and misses no key that is decided meanwhile.',
    parameters: [
      inQuery('state', `Only keys in these states, separated by commas: ${KEY_STATES.join(', ')}.`, text),
      inQuery('profile', 'Only keys of the profile with this username or alias.', text),
      inQuery(
        'unused',
        'Only Active keys that were not used for so long, such as `90d`. Not together with `state`.',
        text,
      ),
      inQuery('cursor', 'The place at which the page before ends; it stands in `Link`.', text),
    ],
    body: KEY_LIST,
    headers: {
      Link: {
        description: 'The next page, with `rel="next"` (RFC 8288); absent on the last one.',
        required: false,
        schema: { type: 'string' },
      },
    },
    refusals: OF_KEY,
  },
  [`POST ${KEYS_PATH}`]: {
    operationId: 'requestKey',
    summary: 'Ask for a key',
    description: 'For owners, 5 a day (UTC). The key is pending until an admin decides.',
    request: json(REQUEST_BODY),
    statuses: [201],
    body: KEY,
    headers: {
      Location: { description: 'The address of the key.', required: true, schema: { type: 'string', format: 'uri' } },
    },
    refusals: [...OF_KEY, ...OF_BODY, 'not_possible', 'too_many_requests'],
  },
  [`GET ${KEY_PATH}`]: {
    operationId: 'showKey',
    summary: 'Show a key and its history',
    description: 'Owners see their own, admins all. The history has the oldest entry first.',
    parameters: [THE_KEY],
    body: { $ref: '#/components/schemas/KeyWithHistory' },
    refusals: OF_KEY,
  },
  [`PATCH ${KEY_PATH}`]: {
    operationId: 'renameKey',
    summary: 'Rename a key',
    description: 'For owners; nothing else of a key can be edited.',
    parameters: [THE_KEY],
    request: json(NAME_BODY),
    body: KEY,
    refusals: [...OF_KEY, ...OF_BODY, 'not_possible', 'too_many_requests'],
  },
  [`GET ${KEY_PATH}/usage`]: {
    operationId: 'getUsage',
    summary: 'Ask what a key was used for',
    description: 'Requests by how they ended, for each of the last days (UTC), today last.',
    parameters: [
      THE_KEY,
      inQuery('days', 'For so many days.', { type: 'integer', minimum: 1, maximum: USAGE_DAYS, default: 30 }),
    ],
    body: USAGE,
    refusals: OF_KEY,
  },
  [`POST ${KEY_PATH}/withdraw`]: {
    operationId: 'withdrawKey',
    summary: 'Take a pending request back',
    description: 'For owners.',
    parameters: [THE_KEY],
    body: KEY,
    refusals: [...OF_KEY, 'not_possible'],
  },
  [`POST ${KEY_PATH}/approve`]: decisionDoc({
    operationId: 'approveKey',
    summary: 'Approve a request',
    description:
      'For admins. What is left out is granted as it was asked for, with the usual limits, without an end. After the 202 the mail with the secret is on its way: look at the key until the result of its attempt is not `open` any more.',
    request: json(GRANT_BODY),
  }),
  [`POST ${KEY_PATH}/reject`]: decisionDoc({
    operationId: 'rejectKey',
    summary: 'Reject a request',
    description: 'For admins. The owner gets the reason by mail.',
    request: json(REASON_BODY),
  }),
  [`POST ${KEY_PATH}/change`]: decisionDoc({
    operationId: 'changeKey',
    summary: 'Change what an Active key may do',
    description: 'For admins. What is left out stays as it is; the secret stays, and the owner gets a mail.',
    request: json(CHANGE_BODY),
  }),
  [`POST ${KEY_PATH}/revoke`]: {
    ...decisionDoc({
      operationId: 'revokeKey',
      summary: 'Revoke a key',
      description:
        'For the owner of the key, who may leave the reason out and is answered with 200 at once; and for admins.',
      request: json(REVOCATION_BODY),
    }),
    statuses: [200, 202],
  },
};
