import { z } from 'zod';
import { Key, KeyList, KeyUsage, KeyWithHistory } from '../../../shared/api/key-bodies.ts';
import { KEY_STATES } from '../../../shared/db/key-columns.ts';
import { FIELDS } from '../../../shared/keys/inputs.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { ownHeader } from '../../docs/openapi/headers.ts';
import { bodyOf, KEY_PATH, KEYS_PATH, REQUEST_BODY } from '../operations/keys.ts';
import { inQuery, type ManageDoc } from './operations.ts';

// What the document says of the operations on keys.

const identifier = z.string().meta({ param: { description: 'The 8 characters that name the key.' } });
const THE_KEY = { path: z.object({ identifier }) };

const json = (schema: z.ZodType) => ({ type: 'application/json', schema });

/** The refusals of everything that is about one key, and of what takes a body. */
const OF_KEY = ['not_found'] as const;
const OF_BODY = ['bad_body', 'body_too_long', 'not_json'] as const;

/** What admins do on the page of the key only. */
function decisionDoc(operationId: string, what: string): ManageDoc {
  return {
    operationId,
    summary: `Find the page to ${what}`,
    description: `For admins, whose token only reads. Whatever the body is, nothing is done, and the answer is 403 \`decision_needed\` with the \`address\` of the page on which an admin can ${what} by a passkey. Look at the key to see what was decided.`,
    parameters: THE_KEY,
    statuses: [],
    body: Key,
    refusals: [...OF_KEY, 'decision_needed'],
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
    request: json(bodyOf(OPERATIONS.edit)),
    body: Key,
    refusals: [...OF_KEY, ...OF_BODY, 'not_possible', 'too_many_requests'],
  },
  [`GET ${KEY_PATH}/usage`]: {
    operationId: 'getUsage',
    summary: 'Ask what a key was used for',
    description: 'Requests by how they ended, for each of the last days (UTC), today last.',
    parameters: {
      ...THE_KEY,
      query: z.object({ days: inQuery(FIELDS.days.default(30), 'For so many days.') }),
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
  [`POST ${KEY_PATH}/approve`]: decisionDoc('approveKey', 'approve a request'),
  [`POST ${KEY_PATH}/reject`]: decisionDoc('rejectKey', 'reject a request'),
  [`POST ${KEY_PATH}/change`]: decisionDoc('changeKey', 'change what an Active key may do'),
  [`POST ${KEY_PATH}/revoke`]: {
    operationId: 'revokeKey',
    summary: 'Revoke a key',
    description:
      'For its owner, with a reason or without: every request with its secret is refused from then on. An admin gets 403 `decision_needed` with the `address` of the page on which admins revoke it by a passkey.',
    parameters: THE_KEY,
    request: json(bodyOf(OPERATIONS.revoke)),
    body: Key,
    refusals: [...OF_KEY, ...OF_BODY, 'not_possible', 'decision_needed'],
  },
};
