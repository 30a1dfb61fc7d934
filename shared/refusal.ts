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
  /** The URL of the page on which admins decide on a key (`decision_needed`). */
  address?: string;
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
  /** When a client of `/api` or `/manage` gets it, for the OpenAPI documents. */
  when?: string;
  /** What a client of `/api` should do, in whole sentences. */
  remedy?: string;
  /** Set if the server logs the cause. */
  isLogged?: true;
  /** Additional headers. */
  headers?: (details: ErrorDetails) => Record<string, string>;
};

/** The Retry-After header, by default one second. */
export const retryAfter = ({ retryAfterSeconds = 1 }: ErrorDetails) => ({ 'Retry-After': String(retryAfterSeconds) });
