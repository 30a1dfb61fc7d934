import type { ErrorCode } from '../../shared/errors.ts';
import type { VerifiedKey } from '../../shared/keys/verify.ts';
import type { Quota } from './quota.ts';

/** The state of a request, which the plugins fill in as the request passes them. */
export type RequestState = {
  readonly requestId: string;
  /** When the request arrived, by the monotonic clock. */
  readonly startedAtMs: number;
  /** The method as sent; a copy of the request (`routable`) may have another. */
  readonly method: string;
  /** The address at the other end of the connection. */
  readonly peer: string;
  /** The client's address, behind trusted proxies. */
  readonly address: string;
  /** Whether Host and target make a URL (`hasUrl`). */
  readonly hasUrl: boolean;
  /** The path of the request's route, for log and metrics; null if no route matches. */
  template: string | null;
  /** The key of the request, once it was verified. */
  key: VerifiedKey | null;
  quota: Quota | null;
  /** The code of the refusal, once the request was refused. */
  refusal: ErrorCode | null;
};
