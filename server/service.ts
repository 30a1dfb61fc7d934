import type { Reader } from '../shared/db/reader.ts';
import type { Deps } from '../shared/deps.ts';
import type { ErrorCode } from '../shared/errors.ts';
import type { VerifiedKey, Verifier } from '../shared/keys/verify.ts';
import type { Limits } from '../shared/limits/limits.ts';
import type { Leaderboard } from '../shared/profiles/board.ts';
import type { Lookup } from '../shared/profiles/lookup.ts';
import type { CodeDesk } from '../shared/sign-in/codes.ts';
import type { Throttle } from '../shared/throttle.ts';
import type { Usage } from '../shared/usage/usage.ts';
import type { Background } from './background.ts';
import type { Quota } from './http/quota.ts';
import type { Transport } from './http/transport.ts';
import type { Log } from './observability/log.ts';
import type { Metrics } from './observability/metrics.ts';

/** The part of Bun's server that knows connections: their remote address, and their idle timeout in seconds. */
type Connections = {
  requestIP: (request: Request) => { address: string } | null;
  timeout: (request: Request, seconds: number) => void;
};

/** What the plugins and routes of the application use. */
export type Service = {
  deps: Deps;
  transport: Transport;
  reader: Reader;
  log: Log;
  nextRequestId: () => string;
  verify: Verifier;
  throttle: Throttle;
  limits: Limits;
  usage: Usage;
  /** Null if METRICS_TOKEN is unset. */
  metrics: Metrics | null;
  lookup: Lookup;
  leaderboard: Leaderboard;
  isReady: () => boolean;
  /** Null until the server listens. */
  connections: Connections | null;
  background: Background;
  /** How often each IP address has sent the forms that strangers can send, by their routes. */
  formThrottles: Map<string, Throttle>;
  /** What is counted about requests for sign-in codes, and the mails being sent. */
  codes: CodeDesk;
  /** Once true, no approval may start. */
  isStopping: boolean;
};

/** The state of a request, filled in by the plugins that it passes. */
export type RequestState = {
  readonly requestId: string;
  /** By the monotonic clock. */
  readonly startedAtMs: number;
  readonly method: string;
  /** The IP address at the other end of the connection; null if that was reset. */
  readonly peer: string | null;
  /** The client's IP address, behind trusted proxies; empty if the connection was reset. */
  readonly address: string;
  /** The path of the request's route, for log and metrics; null if no route matches. */
  template: string | null;
  /** Null until the key is verified. */
  key: VerifiedKey | null;
  quota: Quota | null;
  /** Null unless the request was refused. */
  refusal: ErrorCode | null;
};
