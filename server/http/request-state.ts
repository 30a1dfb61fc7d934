import type { ErrorCode } from '../../shared/errors.ts';
import type { VerifiedKey } from '../../shared/keys/verify.ts';
import type { Quota } from './quota.ts';

/** The state of a request, filled in by the plugins that it passes. */
export type RequestState = {
  readonly requestId: string;
  /** By the monotonic clock. */
  readonly startedAtMs: number;
  readonly method: string;
  /** The IP address at the other end of the connection. */
  readonly peer: string;
  /** The client's IP address, behind trusted proxies. */
  readonly address: string;
  /** The path of the request's route, for log and metrics; null if no route matches. */
  template: string | null;
  /** Null until the key is verified. */
  key: VerifiedKey | null;
  quota: Quota | null;
  /** Null unless the request was refused. */
  refusal: ErrorCode | null;
};
