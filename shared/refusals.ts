import { PORTAL_REFUSALS } from './portal-refusals.ts';
import { type Refusal, retryAfter } from './refusal.ts';

const REALM = 'Bearer realm="profile-lookup"';

/**
 * Every refusal of the product: the closed list of error codes, with everything that the server, `profilectl` and the OpenAPI
 * documents need. No other file contains an error status or an exit code.
 */
export const REFUSALS = {
  /** A missing or malformed value that the caller typed. */
  usage: { exitCode: 2 },
  /** An invalid environment variable or environment file. */
  bad_config: { exitCode: 2 },
  /** A rule of the product. */
  refused: {},
  /** Only part of an import was applied. */
  done_in_part: { exitCode: 3 },
  /** The person at the terminal cancelled. */
  cancelled: { exitCode: 130, sentence: 'Cancelled; nothing was changed.' },
  /** Something else is in progress, or did not answer. */
  try_later: { exitCode: 75 },
  ...PORTAL_REFUSALS,
  bad_parameter: {
    status: 400,
    exitCode: 2,
    when: 'a parameter is malformed, out of range, unknown or repeated; the sentence names it',
    remedy: 'Correct the parameter that the sentence names; sending the same request again does not help.',
  },
  bad_request: {
    status: 400,
    sentence: 'The request has no valid Host header.',
    when: 'the request has no valid Host header',
    remedy: 'Send one Host header, as HTTP clients do automatically.',
  },
  no_credentials: {
    status: 401,
    sentence: 'An API key is required, sent as "Authorization: Bearer <API key>".',
    when: 'there is no key, or Authorization is malformed or has another scheme',
    remedy: 'Send the header; check whether a redirect or a proxy has removed it.',
    headers: () => ({ 'WWW-Authenticate': REALM }),
  },
  invalid_token: {
    status: 401,
    sentence: 'This API key is not valid.',
    when: 'the key is unknown, mistyped or not valid now; the sentence is the same for every reason',
    remedy:
      'Check whether the whole secret was sent, and look for a newer e-mail about this key. Otherwise request another key.',
    headers: () => ({ 'WWW-Authenticate': `${REALM}, error="invalid_token"` }),
  },
  plain_http: {
    status: 403,
    sentence: 'This API is served over HTTPS only.',
    when: 'the request used plain HTTP, which is not allowed here',
    remedy: 'Use https://. Your key may have been read on the way: have it revoked, and request another.',
  },
  insufficient_scope: {
    status: 403,
    when: 'the key lacks the permission that the sentence names',
    remedy: 'Ask an admin to add the permission to the key, or request a key that has it.',
    headers: ({ scope }) => ({ 'WWW-Authenticate': `${REALM}, error="insufficient_scope", scope="${scope}"` }),
  },
  not_found: {
    status: 404,
    sentence: 'There is no such profile.',
    when: 'there is no such profile',
    remedy: 'Treat this as the result: no profile has this name or ID.',
  },
  unknown_path: {
    status: 404,
    sentence: 'There is nothing at this path.',
    when: 'there is nothing at this path',
    remedy: 'Compare the path with those on this page; a slash inside a name is %2F.',
  },
  method_not_allowed: {
    status: 405,
    sentence: 'This path only supports GET and HEAD.',
    when: 'the path does not support this method',
    remedy: 'Use GET.',
    headers: ({ allow = 'GET, HEAD' }) => ({ Allow: allow }),
  },
  uri_too_long: {
    status: 414,
    sentence: 'The path is longer than 8192 bytes.',
    when: 'the path is longer than 8 KiB',
    remedy: 'Shorten the path: no name or auth ID is that long.',
  },
  rate_limited: {
    status: 429,
    when: 'a rate limit of the key is used up; waiting for Retry-After is enough',
    remedy: 'Send the request again after Retry-After seconds.',
    headers: retryAfter,
  },
  too_many_failures: {
    status: 429,
    when: 'more than 30 requests without a valid key came from one IP address within a minute',
    remedy: 'Fix the key, as for a 401, and send the request again after Retry-After seconds.',
    headers: retryAfter,
  },
  /** The owner has requested or renamed too many keys today. */
  too_many_requests: { status: 429, exitCode: 75, headers: retryAfter, when: 'the owner has reached a daily limit' },
  internal: {
    status: 500,
    sentence: 'The server failed to answer this request.',
    isSentenceFixed: true,
    isLogged: true,
    when: 'the server failed; its log has the cause under the X-Request-Id',
    remedy: 'Send the request again later. If it keeps failing, report the X-Request-Id.',
  },
  /** Another process or thread holds a lock. */
  busy: {
    status: 503,
    exitCode: 75,
    sentence: 'The database is busy; try again.',
    isSentenceFixed: true,
    isLogged: true,
    when: 'another program has locked the database for a moment',
    remedy: 'Send the request again after Retry-After seconds.',
    headers: retryAfter,
  },
  not_ready: {
    status: 503,
    sentence: 'The database is not ready.',
    isLogged: true,
    when: 'the database is not ready',
    remedy: 'Try again after Retry-After seconds.',
    headers: retryAfter,
  },
} as const satisfies Record<string, Refusal>;
