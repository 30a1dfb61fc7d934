/** What a refusal has besides its sentence; each field is read by exactly one header, `address` by the body. */
export type ErrorDetails = {
  /** Whole seconds after which retrying makes sense (RFC 9110, section 10.2.3). */
  retryAfterSeconds?: number;
  /** Whether clients see this sentence despite the code's `isSentenceFixed`, because the fault is not the server's. */
  isForClient?: boolean;
  /** Whether the sentence is about a file or a disk of this machine, and only the operator may read it. */
  isForOperator?: boolean;
  /** The permission that the key lacks (RFC 6750, section 3.1). */
  scope?: string;
  /** The methods that a path supports, comma-separated (RFC 9110, section 10.2.1). */
  allow?: string;
  /** The URL of the page on which admins decide on a key (`decision_needed`). */
  address?: string;
  /** The underlying fault, for the log only; never shown to a stranger. */
  cause?: unknown;
};

/** The meaning of one error code at each door. */
export type Refusal = {
  /** The HTTP status. Without one, no request should meet the code, and a request that does is answered as `internal`. */
  status?: number;
  /** The exit code of `profilectl`, by default 1. 75 is EX_TEMPFAIL of sysexits.h: retrying can help. */
  exitCode?: number;
  /** The sentence for a person, unless the error was thrown with a more exact one. */
  sentence?: string;
  /** True where clients are always shown `sentence`, because a more exact one was written for the operator. */
  isSentenceFixed?: true;
  /** When a client of `/api` or `/manage` gets it, for the OpenAPI documents; absent if none can. */
  when?: string;
  /** What a client of `/api` should do about it, in whole sentences; absent if none can get it. */
  remedy?: string;
  /** True if the server logs the cause. */
  isLogged?: true;
  /** The headers that only this refusal has. */
  headers?: (details: ErrorDetails) => Record<string, string>;
};

/** The header of refusals after which retrying makes sense. */
export const retryAfter = ({ retryAfterSeconds = 1 }: ErrorDetails) => ({ 'Retry-After': String(retryAfterSeconds) });
