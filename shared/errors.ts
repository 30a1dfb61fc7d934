/**
 * Every way the product says no. The list is closed: `server/refusals.ts` maps each code to an HTTP status and
 * `cli/exit-codes.ts` to an exit code.
 */
export type ErrorCode =
  | 'usage' // a missing or malformed value that the caller typed
  | 'bad_config' // an environment variable or the environment file
  | 'refused' // a rule of the product
  | 'not_found' // no such key or profile
  | 'try_later' // somebody or something else is at it, or did not answer
  | 'busy' // the database is locked
  | 'cancelled' // the person at the terminal gave up
  | 'no_credentials'
  | 'invalid_token'
  | 'too_many_failures'
  | 'plain_http'
  | 'insufficient_scope'
  | 'rate_limited'
  | 'unknown_path'
  | 'method_not_allowed'
  | 'bad_parameter'
  | 'bad_request'
  | 'uri_too_long'
  | 'not_ready'
  | 'internal';

/** What a refusal carries besides its sentence; each field is read by exactly one header or exit path. */
export type ErrorDetails = {
  /** Whole seconds after which trying again is sensible (RFC 9110, section 10.2.3). */
  retryAfterSeconds?: number;
  /** The permission that the key lacks (RFC 6750, section 3.1). */
  scope?: string;
  /** The underlying fault, for the log only; never shown to a stranger. */
  cause?: unknown;
};

/** The one error class. `message` is a whole sentence for a person: what is wrong and, where it helps, what to do. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.name = 'AppError';
    this.code = code;
    this.details = details;
  }
}
