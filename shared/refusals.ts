import type { ErrorDetails, Refusal } from './refusal.ts';

const REALM = 'Bearer realm="profile-lookup"';

const retryAfter = ({ retryAfterSeconds = 1 }: ErrorDetails) => ({ 'Retry-After': String(retryAfterSeconds) });

/**
 * Every way in which the product says no: the closed list of error codes, and all that the server, `profilectl` and the
 * OpenAPI document need to know of each. No other file holds an error status or an exit code.
 */
export const REFUSALS = {
  /** A missing or malformed value that the caller typed. */
  usage: { exitCode: 2 },
  /** A faulty environment variable or environment file. */
  bad_config: { exitCode: 2 },
  /** A rule of the product. */
  refused: {},
  /** Something of an import is in and something is not. */
  done_in_part: { exitCode: 3 },
  /** The person at the terminal gave up. */
  cancelled: { exitCode: 130, sentence: 'Cancelled; nothing was changed.' },
  /** Somebody or something else is at it, or did not answer. */
  try_later: { exitCode: 75 },
  /** `profilectl` has no token that the server of its command accepts. */
  not_logged_in: { exitCode: 4 },
  /** This kind of person may not do this, whatever it is about (`shared/operations.ts`). */
  forbidden: { status: 403, sentence: 'You are not allowed to do this.' },
  /** A form of the pages under `/developers` that breaks a rule: the page that comes back says which. */
  refused_form: { status: 422, sentence: 'Something in this form can’t be accepted; nothing was done.' },
  /** A form whose bytes are not what a browser sends. */
  bad_form: { status: 400, sentence: 'The form did not arrive as a browser sends it; nothing was done.' },
  form_too_long: {
    status: 413,
    sentence: 'The form is longer than 64 KiB; nothing was done. Shorten its texts.',
  },
  not_a_form: { status: 415, sentence: 'This path takes forms only, as application/x-www-form-urlencoded.' },
  cross_site: {
    status: 403,
    sentence: 'This form was not sent by a page of this site; nothing was done. Open the page here, and send it again.',
  },
  /** The disk is full or broken; only pages say so, others answer `internal`. */
  not_written: {
    status: 503,
    sentence:
      'The server can’t store anything at this moment, since its disk has no room or is broken; nothing was done. Try again in some minutes, and tell whoever runs this service.',
    isLogged: true,
    headers: () => retryAfter({ retryAfterSeconds: 60 }),
  },
  too_many_pages: {
    status: 503,
    sentence: 'Too many pages are asked for at this moment; try again.',
    headers: retryAfter,
  },
  no_sign_in: { status: 503, sentence: 'Nobody can sign in here yet; nothing was done.' },
  signed_out: { status: 403, sentence: 'You are not signed in, or not any more; nothing was done.' },
  /** A body of `/manage/v1` that breaks a rule. */
  bad_body: { status: 400, exitCode: 2 },
  /** What `/manage/v1` was asked for breaks a rule of the product, at least just now. */
  not_possible: { status: 409 },
  /** An admin's token has asked for a decision, which needs the admin's passkey; the answer has the address for it. */
  decision_needed: { status: 403, sentence: 'A passkey has to let this through, at the address in this answer.' },
  decision_refused: { status: 403, sentence: 'The admin has refused this in the browser; nothing was done.' },
  body_too_long: { status: 413, sentence: 'The body is longer than 64 KiB; nothing was done.' },
  not_json: { status: 415, sentence: 'This path takes JSON only, as application/json.' },
  /** A request to `/manage/v1/token` or `/revoke` that is refused as RFC 6749, section 5.2, and RFC 7009 say. */
  invalid_request: { status: 400 },
  invalid_client: { status: 401, headers: () => ({ 'WWW-Authenticate': 'Basic realm="profile-lookup"' }) },
  invalid_grant: { status: 400 },
  unsupported_grant_type: { status: 400 },
  unsupported_token_type: { status: 400 },
  /** Profiles that a platform sends to `/manage/v1/profiles`. */
  lines_refused: { status: 422 },
  too_many_lines: { status: 413 },
  lines_cut_off: { status: 408, exitCode: 75, headers: () => ({ Connection: 'close' }) },
  not_lines: { status: 415, sentence: 'This path takes JSON Lines only, as application/jsonl.' },
  feed_running: {
    status: 429,
    exitCode: 75,
    sentence: 'Profiles are being taken in already; try again when that is done.',
    headers: retryAfter,
  },
  /** Something is not any more as the page showed on which an admin decided. */
  changed_since: {
    status: 409,
    sentence: 'This has changed since the page showed it; look at it again. Nothing was done.',
  },
  /** Too many people begin to use a passkey, or one of them too often. */
  too_many_challenges: {
    status: 429,
    exitCode: 75,
    sentence: 'Passkeys were asked for too often; try again in a minute.',
    headers: retryAfter,
  },
  bad_parameter: {
    status: 400,
    exitCode: 2,
    when: 'a parameter is malformed, out of range, unknown or repeated; the sentence names it',
  },
  bad_request: {
    status: 400,
    sentence: 'The request has no valid Host header.',
    when: 'the request names no host',
  },
  no_credentials: {
    status: 401,
    sentence: 'An API key is required, sent as "Authorization: Bearer <API key>".',
    when: 'there is no key, or Authorization is malformed or of another scheme',
    headers: () => ({ 'WWW-Authenticate': REALM }),
  },
  invalid_token: {
    status: 401,
    sentence: 'This API key is not valid.',
    when: 'the key is unknown, mistyped, not approved, withdrawn, revoked or expired: one sentence for all of these',
    headers: () => ({ 'WWW-Authenticate': `${REALM}, error="invalid_token"` }),
  },
  plain_http: {
    status: 403,
    sentence: 'This API is served over HTTPS only.',
    when: 'the request came by plain HTTP where that is not allowed',
  },
  insufficient_scope: {
    status: 403,
    when: 'the key lacks the permission; the sentence names it',
    headers: ({ scope }) => ({ 'WWW-Authenticate': `${REALM}, error="insufficient_scope", scope="${scope}"` }),
  },
  not_found: {
    status: 404,
    sentence: 'There is no such profile.',
    when: 'there is no such profile',
  },
  unknown_path: {
    status: 404,
    sentence: 'There is nothing at this path.',
    when: 'there is nothing at this path',
  },
  method_not_allowed: {
    status: 405,
    sentence: 'This path answers GET and HEAD only.',
    when: 'the method is neither GET nor HEAD',
    headers: ({ allow = 'GET, HEAD' }) => ({ Allow: allow }),
  },
  uri_too_long: {
    status: 414,
    sentence: 'The path is longer than 8192 bytes.',
    when: 'the path has more than 8 KiB',
  },
  rate_limited: {
    status: 429,
    sentence: 'This API key has used up a rate limit.',
    when: 'a rate limit of the key has no room; waiting for Retry-After is enough',
    headers: retryAfter,
  },
  too_many_failures: {
    status: 429,
    sentence: 'Too many requests without a valid API key came from this address.',
    when: 'the 31st request without a valid key from one address within a minute',
    headers: retryAfter,
  },
  /** The owner asked for more keys than a profile may in one day. */
  too_many_requests: { status: 429, exitCode: 75, headers: retryAfter },
  internal: {
    status: 500,
    sentence: 'The server failed to answer this request.',
    isSentenceFixed: true,
    isLogged: true,
    when: 'a fault of the server; its log has the cause under the request id',
  },
  /** Another process or thread holds a lock. */
  busy: {
    status: 503,
    exitCode: 75,
    sentence: 'The database is busy; try again.',
    isSentenceFixed: true,
    isLogged: true,
    when: 'the database is locked for a moment, or answers that were asked for with this key and not read yet leave no room for a big one',
    headers: retryAfter,
  },
  not_ready: {
    status: 503,
    sentence: 'The database is not ready.',
    isLogged: true,
    when: 'the database is not open or not migrated',
    headers: retryAfter,
  },
} as const satisfies Record<string, Refusal>;
