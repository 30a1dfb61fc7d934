import type { ErrorCode } from '../../errors.ts';
import type { ImportDetails, ImportResult } from './import-report.ts';

// What a server and the process that it starts for profiles of a platform tell each other: the server sends one line of
// JSON, then the platform's lines; the process prints one line of JSON at its end.

/** What a platform may do and wants. */
export type FeedOrder = {
  /** The identifier of the token, whose use the process notes. */
  token: string;
  /** The name of the platform. */
  name: string;
  isWithoutAddress: boolean;
  eraseLimit: number;
  /** A line changes only the fields that it has. */
  merge: boolean;
  /** Bad lines are left out and the rest goes in, in batches; else all goes in or nothing. */
  partial: boolean;
  /** When the lines were read, milliseconds since 1970; null where nobody said. */
  asOfMs: number | null;
};

/** The first line: the order, the configuration's bound, and how many bytes follow; null where that is not known yet. */
export type FeedHead = FeedOrder & { maxProfileBytes: number; bytes: number | null };

/** The counts of an answer; {@link ImportDetails} says what `notThere`, `unaddressed` and `newerIds` are. */
export type FeedCounts = Pick<ImportResult, 'imported' | 'deleted' | 'newer' | 'refused' | 'dropped'> &
  Pick<ImportDetails, 'notThere' | 'unaddressed' | 'newerIds'>;

/** The last line: what was done, or why nothing (more) was; `isForClient` where a client may see the sentence. */
export type FeedEnd = (
  | { done: FeedCounts }
  | { fault: { code: ErrorCode; sentence: string; isForClient: boolean } }
) & {
  /** Why the use of the token could not be noted; absent where it was. */
  unnoted?: string;
};

/** What one request may send. */
export const FEED_LIMITS = {
  whole: { lines: 1_000, bytes: 4 * 1024 * 1024 },
  partial: { lines: 50_000, bytes: 64 * 1024 * 1024 },
} as const;
