/** What a refusal carries besides its sentence; each field is read by exactly one header, `address` by the body. */
export type ErrorDetails = {
  /** Whole seconds after which trying again is sensible (RFC 9110, section 10.2.3). */
  retryAfterSeconds?: number;
  /** Whether a client is shown this sentence although the code's `isSentenceFixed`: then it is no fault of the server. */
  isForClient?: boolean;
  /** Whether the sentence tells of a file or a disk of this machine: then only the operator may read it. */
  isForOperator?: boolean;
  /** The permission that the key lacks (RFC 6750, section 3.1). */
  scope?: string;
  /** The methods that a path answers, separated by commas (RFC 9110, section 10.2.1). */
  allow?: string;
  /** The page on which admins decide on a key (`decision_needed`). */
  address?: string;
  /** The underlying fault, for the log only; never shown to a stranger. */
  cause?: unknown;
};

/** What one error code means at each door. */
export type Refusal = {
  /** The HTTP status. Without one, no request should meet the code, and a request that does is answered as `internal`. */
  status?: number;
  /** The exit code of `profilectl`; 1 where it is left out. 75 is EX_TEMPFAIL of sysexits.h: trying again can help. */
  exitCode?: number;
  /** The sentence for a person, unless whoever throws the error gives a more exact one. */
  sentence?: string;
  /** True where clients are always shown `sentence`, because a more exact one was written for the operator. */
  isSentenceFixed?: true;
  /** When a client of `/api` or `/manage` meets it, for the OpenAPI documents; absent where none can. */
  when?: string;
  /** What a client of `/api` should do about it, in whole sentences; absent where none of them can meet it. */
  remedy?: string;
  /** True where the server logs what caused it. */
  isLogged?: true;
  /** The headers that only this refusal has. */
  headers?: (details: ErrorDetails) => Record<string, string>;
};
