import { type ErrorCode, refusalOf } from '../../../shared/errors.ts';
import { COMMON_HEADERS, headerReferences } from '../../api-doc/document/headers.ts';
import type { Header, ResponseObject, Schema } from '../../api-doc/document/types.ts';
import { OAUTH_CODES } from '../refusals.ts';
import { LINES_REFUSED, objectOf } from './operations.ts';

/** When each refusal comes, as clauses. */
const WHEN: Partial<Record<ErrorCode, string>> = {
  bad_request: 'the request names no host',
  bad_parameter: 'a query parameter is malformed, unknown or repeated',
  bad_body: 'the body is not the JSON object that this path takes',
  no_credentials: 'there is no token, or Authorization is malformed or of another scheme',
  invalid_token: 'the token is unknown, mistyped, removed or over',
  plain_http: 'the request came by plain HTTP where that is not allowed',
  forbidden: 'whoever has this token may not do this; the sentence says why',
  insufficient_scope: 'the token lacks the right; the sentence names it',
  not_found: 'there is no such profile or key, or none that this person may see',
  not_possible: 'a rule of the product is against it, at least just now; the sentence says which',
  changed_since: 'the key has changed since the decision was asked for',
  decision_needed: 'a passkey has to let this through, at the `address` in the body',
  decision_refused: 'the admin has refused this in the browser; told once',
  too_many_requests: 'the owner has asked for too much today',
  too_many_challenges: 'too many decisions of this token wait for the admin',
  unknown_path: 'there is nothing at this path',
  method_not_allowed: 'the path does not have this method',
  body_too_long: 'the body is longer than 64 KiB',
  too_many_lines: 'the body has more lines or bytes than a request may have; the sentence names the limit',
  lines_cut_off:
    'less than 1 KiB/s of the body arrived over 20 s; with `partial=1` whole batches are in then, else nothing',
  uri_too_long: 'the path has more than 8 KiB',
  not_json: 'the body is not application/json',
  not_lines: 'the body is not application/jsonl, or it is compressed',
  lines_refused: 'lines were refused; without `partial=1` nothing is in then',
  too_many_failures:
    'the 31st request without a valid token or key from one address within a minute, or the 31st that begins or ends a login',
  feed_running: 'another request puts profiles in',
  invalid_request: 'a parameter is missing, malformed or repeated, or the body is no form',
  invalid_client: 'the client_id is missing or another, or the client sent a secret',
  invalid_grant: 'the code is unknown, used or too old, or the verifier, the redirect_uri or the person is another one',
  unsupported_grant_type: 'grant_type is not authorization_code',
  unsupported_token_type: 'the token is one of a platform',
  internal: 'a fault of the server; its log has the cause under the request id',
  busy: 'the database is locked for a moment',
  not_ready: 'the server takes no profiles in',
  too_many_pages: 'too many requests are under way',
};

/** The refusals that every operation has, whether or not it takes a token. */
export const COMMON: readonly ErrorCode[] = [
  'bad_request',
  'plain_http',
  'too_many_failures',
  'internal',
  'busy',
  'not_ready',
  'too_many_pages',
];

/** Those of all other paths and methods. */
export const OTHER: readonly ErrorCode[] = ['unknown_path', 'method_not_allowed', 'uri_too_long'];

/** The headers that only some refusals have, as `refusals.ts` of this server says. */
const OWN: Record<string, { description: string; schema: Header['schema'] }> = {
  'WWW-Authenticate': { description: 'What is wrong with the token (RFC 6750).', schema: { type: 'string' } },
  'Retry-After': {
    description: 'Seconds after which trying again is sensible.',
    schema: { type: 'integer', minimum: 1 },
  },
  Connection: {
    description: '`close`: the rest of the body is not read.',
    schema: { type: 'string', enum: ['close'] },
  },
  Allow: { description: 'The methods that this path has.', schema: { type: 'string' } },
};

/** The bodies of refusals that have more than a sentence. */
const OWN_BODIES: Partial<Record<ErrorCode, Schema>> = {
  lines_refused: LINES_REFUSED,
  decision_needed: objectOf(
    {
      error: { type: 'string' },
      address: {
        type: 'string',
        format: 'uri',
        description: 'Where the admin lets this through; not for other codes.',
      },
    },
    ['address'],
  ),
};

/** The responses of these refusals, one for each status. */
export function responsesOf(codes: readonly ErrorCode[]): Record<string, ResponseObject> {
  const groups = Map.groupBy(codes, (code) => refusalOf(code).status as number);
  const sorted = [...groups].sort(([one], [other]) => one - other);
  return Object.fromEntries(sorted.map(([status, group]) => [String(status), responseOf(group)]));
}

function responseOf(group: readonly ErrorCode[]): ResponseObject {
  const when = group.map((code) => WHEN[code]).join('; or ');
  return {
    description: `${when.charAt(0).toUpperCase()}${when.slice(1)}.`,
    headers: {
      ...headerReferences(...COMMON_HEADERS, 'No-Cache-Control'),
      'X-Error-Code': {
        description: 'Which refusal this is, for programs; the sentence in the body is for people and may change.',
        required: true,
        schema: { type: 'string', enum: [...group] },
      },
      ...ownHeaders(group),
    },
    content: { 'application/json': { schema: schemaOf(group) } },
  };
}

function schemaOf(group: readonly ErrorCode[]): Schema {
  const own = group.find((code) => OWN_BODIES[code] !== undefined);
  if (own !== undefined) return OWN_BODIES[own] as Schema;
  const schemas = [
    ...(group.every((code) => OAUTH_CODES.includes(code)) ? [] : [{ $ref: '#/components/schemas/Error' }]),
    ...(group.some((code) => OAUTH_CODES.includes(code)) ? [{ $ref: '#/components/schemas/OAuthError' }] : []),
  ];
  return schemas.length === 1 ? (schemas[0] as Schema) : { anyOf: schemas };
}

function ownHeaders(group: readonly ErrorCode[]): Record<string, Header> {
  return Object.fromEntries(
    Object.entries(OWN).flatMap(([name, header]) => {
      const having = group.filter((code) => refusalOf(code).headers?.({ scope: '', allow: '' })[name] !== undefined);
      return having.length === 0 ? [] : [[name, { ...header, required: having.length === group.length }]];
    }),
  );
}
