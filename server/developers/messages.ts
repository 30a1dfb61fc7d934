import type { Config } from '../../shared/config/config.ts';
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
  /** Those of {@link PASSED_HEADERS} that the request has, in lower case; under `/manage` only Authorization. */
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

/** The headers of a request that pages read. */
export const PASSED_HEADERS = ['cookie', 'origin', 'sec-fetch-site', 'user-agent'] as const;

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

/** Something that the log should tell. */
export type PlatformEvent = { level: 'info' | 'warn' | 'error'; message: string; cause: string | undefined };

/**
 * A message to the platform thread: the configuration, which comes first; a request with its number; the order to open the
 * files, which every request opens too; the order to send the mails that are due; the notice that the server begins to stop;
 * the order to finish what is under way.
 */
export type ToPlatform =
  | { kind: 'start'; config: Config }
  | { kind: 'page'; id: number; request: PageRequest }
  | { kind: 'wake' }
  | { kind: 'mails' }
  | { kind: 'stopping' }
  | { kind: 'stop' };

/** What came of the mails: whether the mail server should be left alone for a while, or why they could not be looked for. */
export type MailsEnd = { isToPause: boolean } | { code: ErrorCode; sentence: string; cause: string | undefined };

/** A message from the platform thread: an answer, what came of mails, something to log, or that it has finished. */
export type FromPlatform =
  | { kind: 'answer'; id: number; answer: PageAnswer }
  | { kind: 'mails'; end: MailsEnd }
  | { kind: 'event'; event: PlatformEvent }
  | { kind: 'stopped' };
