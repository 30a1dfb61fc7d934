import type { ErrorCode } from '../../shared/errors.ts';
import type { FeedOrder } from '../../shared/profiles/write/feed.ts';

// What threads send each other about the pages under /developers. A thread that serves requests knows no page: it takes a
// request in, and sends back what the platform thread answers.

/** A request for a page, or for something under `/manage`, as plain data. */
export type PageRequest = {
  method: string;
  /** The path as it was sent, percent-encoded, without the prefix of PUBLIC_URL. */
  path: string;
  /** The query without its `?`, percent-encoded. */
  query: string;
  /** By their names in lower case. */
  headers: Record<string, string>;
  /** The body of a form, or JSON, as text; null where there is none, or `bodyFault` says what is wrong with it. */
  body: string | null;
  bodyFault: ErrorCode | null;
  /** The client's address, behind the trusted proxies. */
  address: string;
  /** Whether a proxy names its client in X-Forwarded-For although TRUSTED_PROXIES is not set. */
  isForwardedUnasked: boolean;
  requestId: string;
};

/** The answer to a {@link PageRequest}. */
export type PageAnswer = {
  status: number;
  /** Names and values; a name may occur several times, as Set-Cookie does. */
  headers: [name: string, value: string][];
  body: string;
  /** The path of the page's route, for log and metrics. */
  template: string;
  /** Why the request was refused, or null. */
  refusal: ErrorCode | null;
  /** Set where a platform may send profiles: the thread that serves the request takes them in and answers. */
  feed?: FeedOrder;
  /** The text of the error behind a refusal that the log should tell of, or null. */
  fault: string | null;
};
