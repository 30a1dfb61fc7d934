import { z } from 'zod';
import { Key, KeyList, KeyUsage, KeyWithHistory } from '../../../shared/api/key-bodies.ts';
import { KEY_STATES } from '../../../shared/db/key-columns.ts';
import { USAGE_DAYS } from '../../../shared/keys/fields.ts';
import { ownHeader } from '../../docs/openapi/headers.ts';
import { KEY_PATH, KEYS_PATH } from '../operations/keys.ts';
import { CHANGE_BODY, GRANT_BODY, NAME_BODY, REASON_BODY, REQUEST_BODY, REVOCATION_BODY } from './key-requests.ts';
import { inQuery, type ManageDoc } from './operations.ts';

// What the document says of the operations on keys.

const identifier = z.string().meta({ param: { description: 'The 8 characters that name the key.' } });
const THE_KEY = { path: z.object({ identifier }) };

const json = (schema: z.ZodType) => ({ type: 'application/json', schema });

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
    parameters: THE_KEY,
    statuses: [202],
    body: Key,
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
    parameters: {
      query: z.object({
        state: inQuery(z.string(), `Only keys in these states, separated by commas: ${KEY_STATES.join(', ')}.`),
        profile: inQuery(z.string(), 'Only keys of the profile with this username or alias.'),
        unused: inQuery(
          z.string(),
          'Only Active keys that were not used for so long, such as `90d`. Not together with `state`.',
        ),
        cursor: inQuery(z.string(), 'The place at which the page before ends; it stands in `Link`.'),
      }),
    },
    body: KeyList,
    headers: {
      Link: ownHeader(z.string().optional(), 'The next page, with `rel="next"` (RFC 8288); absent on the last one.'),
    },
    refusals: OF_KEY,
  },
  [`POST ${KEYS_PATH}`]: {
    operationId: 'requestKey',
    summary: 'Ask for a key',
    description: 'For owners, 5 a day (UTC). The key is pending until an admin decides.',
    request: json(REQUEST_BODY),
    statuses: [201],
    body: Key,
    headers: { Location: ownHeader(z.url(), 'The address of the key.') },
    refusals: [...OF_KEY, ...OF_BODY, 'not_possible', 'too_many_requests'],
  },
  [`GET ${KEY_PATH}`]: {
    operationId: 'showKey',
    summary: 'Show a key and its history',
    description: 'Owners see their own, admins all. The history has the oldest entry first.',
    parameters: THE_KEY,
    body: KeyWithHistory,
    refusals: OF_KEY,
  },
  [`PATCH ${KEY_PATH}`]: {
    operationId: 'renameKey',
    summary: 'Rename a key',
    description: 'For owners; nothing else of a key can be edited.',
    parameters: THE_KEY,
    request: json(NAME_BODY),
    body: Key,
    refusals: [...OF_KEY, ...OF_BODY, 'not_possible', 'too_many_requests'],
  },
  [`GET ${KEY_PATH}/usage`]: {
    operationId: 'getUsage',
    summary: 'Ask what a key was used for',
    description: 'Requests by how they ended, for each of the last days (UTC), today last.',
    parameters: {
      ...THE_KEY,
      query: z.object({ days: inQuery(z.int().min(1).max(USAGE_DAYS).default(30), 'For so many days.') }),
    },
    body: KeyUsage,
    refusals: OF_KEY,
  },
  [`POST ${KEY_PATH}/withdraw`]: {
    operationId: 'withdrawKey',
    summary: 'Take a pending request back',
    description: 'For owners.',
    parameters: THE_KEY,
    body: Key,
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
