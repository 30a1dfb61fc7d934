import type { ErrorCode } from '../../errors.ts';
import type { ImportDetails, ImportResult } from './import-report.ts';

// The protocol between a server and the process that it starts for a backend's profiles: the server sends a line of
// JSON, then the backend's lines; the process prints a line of JSON at its end.

/** A backend's rights and options. */
export type FeedOrder = {
  /** The identifier of the token; the process records its use. */
  token: string;
  name: string;
  excludesContactFields: boolean;
  eraseLimit: number;
  /** Whether a line changes only the fields that it contains. */
  merge: boolean;
  /** Whether bad lines are skipped and the rest is applied, in batches; otherwise all lines are applied or none. */
  partial: boolean;
  /** When the lines' data was read, in milliseconds since 1970; null if unknown. */
  asOfMs: number | null;
};

/** The first line: the order, the configured size limit, and the number of bytes that follow, null if unknown. */
export type FeedHead = FeedOrder & { maxProfileBytes: number; bytes: number | null };

/** The counts in a response. {@link ImportDetails} explains `notThere`, `unaddressed` and `newerIds`. */
export type FeedCounts = Pick<ImportResult, 'imported' | 'deleted' | 'newer' | 'refused' | 'dropped'> &
  Pick<ImportDetails, 'notThere' | 'unaddressed' | 'newerIds'>;

/** The last line: the result, or why nothing (more) was done; `isForClient` if clients may see the sentence. */
export type FeedEnd = (
  | { done: FeedCounts }
  | { fault: { code: ErrorCode; sentence: string; isForClient: boolean } }
) & {
  /** Why the use of the token could not be recorded; absent if it was. */
  unnoted?: string;
};

/** The limits of one request. */
export const FEED_LIMITS = {
  whole: { lines: 1_000, bytes: 4 * 1024 * 1024 },
  partial: { lines: 50_000, bytes: 64 * 1024 * 1024 },
} as const;
