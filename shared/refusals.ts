/** The details of a refusal besides its sentence, for headers, the body and the log. */
export type ErrorDetails = {
  /** RFC 9110, section 10.2.3. */
  retryAfterSeconds?: number;
  /** Whether clients see this sentence despite the code's `isSentenceFixed`, because the client caused the error. */
  isForClient?: boolean;
  /** Whether only the operator may read the sentence, because it is about a file or a disk of this machine. */
  isForOperator?: boolean;
  /** The permission that the key lacks (RFC 6750, section 3.1). */
  scope?: string;
  /** The comma-separated methods that the path supports (RFC 9110, section 10.2.1). */
  allow?: string;
  /** The original error, only for the log. */
  cause?: unknown;
};

/** The exit codes of `profilectl`. 75 is EX_TEMPFAIL of sysexits.h. */
export const EXIT_CODES = {
  0: 'done',
  1: 'refused or failed',
  2: 'wrong usage: a missing or malformed value, or a bad variable',
  3: 'done in part: some lines of an import were refused, or its pruning was',
  75: 'try again later: mail server unreachable, delivery not confirmed, another attempt in progress, database busy',
  130: 'cancelled: Ctrl-C, or end of input at a prompt',
} as const;

/** The meaning of an error code at each door. */
export type Refusal = {
  /** The HTTP status. Without one, no request should cause the code; if one does, the response is that of `internal`. */
  status?: number;
  /** The exit code of `profilectl`, by default 1. */
  exitCode?: keyof typeof EXIT_CODES;
  /** The sentence of errors that are thrown without a more exact one. */
  sentence?: string;
  /** Set if clients always see `sentence`, because more exact ones are for the operator. */
  isSentenceFixed?: true;
  /** When a client of `/api` gets it, for the OpenAPI document. */
  when?: string;
  /** What a client of `/api` should do, in whole sentences. */
  remedy?: string;
  /** Set if the server logs the cause. */
  isLogged?: true;
  /** Additional headers. */
  headers?: (details: ErrorDetails) => Record<string, string>;
};

/** The Retry-After header, by default one second. */
const retryAfter = ({ retryAfterSeconds = 1 }: ErrorDetails) => ({ 'Retry-After': String(retryAfterSeconds) });

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
  too_many_requests: { status: 429, exitCode: 75, headers: retryAfter },
  internal: {
    status: 500,
    sentence: 'The server failed to answer this request.',
    isSentenceFixed: true,
    isLogged: true,
    when: 'the server failed; its log has the cause under the X-Request-Id',
    remedy: 'Send the request again later. If it keeps failing, report the X-Request-Id.',
  },
  /** Another connection holds the lock. */
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

  // The refusals of `/developers` and `/manage`.

  /** This kind of person may never do this, whatever the input (`shared/operations.ts`). */
  forbidden: { status: 403, sentence: 'You are not allowed to do this.' },
  /** A form under `/developers` that breaks a rule; the page says which. */
  refused_form: { status: 422, sentence: 'Something in this form can’t be accepted; nothing was done.' },
  /** A form that is not encoded the way browsers encode forms. */
  bad_form: { status: 400, sentence: 'The form data is malformed; nothing was done.' },
  form_too_long: {
    status: 413,
    sentence: 'The form is longer than 64 KiB; nothing was done. Shorten what you typed.',
  },
  not_a_form: { status: 415, sentence: 'This path only accepts forms, as application/x-www-form-urlencoded.' },
  cross_site: {
    status: 403,
    sentence:
      'This form was not sent by a page of this site; nothing was done. Open the form on this site, and send it from there.',
  },
  /** The disk is full or broken. Only pages say so; other paths respond with `internal`. */
  not_written: {
    status: 503,
    sentence:
      'The server can’t store anything right now, because its disk is full or broken; nothing was done. Try again in a few minutes, and tell the people who run this service.',
    isLogged: true,
    headers: () => retryAfter({ retryAfterSeconds: 60 }),
  },
  no_sign_in: { status: 503, sentence: 'You can’t sign in here yet; nothing was done.' },
  signed_out: { status: 403, sentence: 'You are not signed in, or your session has expired; nothing was done.' },
  /** A body of `/manage/v1` that breaks a rule. */
  bad_body: { status: 400 },
  /** The request to `/manage/v1` currently breaks a rule of the product. */
  not_possible: { status: 409 },
  body_too_long: { status: 413, sentence: 'The body is longer than 64 KiB; nothing was done.' },
  not_json: { status: 415, sentence: 'This path only accepts JSON, as application/json.' },
  /** Profiles that a backend sends to `/manage/v1/profiles`. */
  too_many_lines: { status: 413 },
  lines_cut_off: {
    status: 408,
    headers: () => ({ Connection: 'close' }),
  },
  not_lines: { status: 415, sentence: 'This path only accepts JSON Lines, as application/jsonl.' },
  feed_running: {
    status: 429,
    sentence: 'An import is already running; try again when it has finished.',
    headers: retryAfter,
  },
  /** Something has changed since it was shown to the person who confirmed it. */
  changed_since: { status: 409 },
} as const satisfies Record<string, Refusal>;
