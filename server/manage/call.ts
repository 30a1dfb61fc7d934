import type { Access } from '../../shared/access/access.ts';
import type { PlatformToken } from '../../shared/access/platform-tokens.ts';
import type { PlatformRight } from '../../shared/db/people-columns.ts';
import type { FeedOrder } from '../../shared/profiles/write/feed.ts';
import type { PageRequest } from '../developers/messages.ts';

/** One request under `/manage/v1` that was let in, and what is known of it when its route is asked. */
export type Call = {
  readonly access: Access;
  readonly request: PageRequest;
  /** Who asks. */
  readonly token: PlatformToken;
  /** The body's members; without any where the route takes no JSON. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The query's parameters that the route names. */
  readonly query: ReadonlyMap<string, string>;
};

/** An entry of the table of `/manage/v1`. */
export type ManageRoute = {
  method: 'GET' | 'POST';
  /** The path, as log and metrics name it. */
  path: string;
  /** The right that the token needs; null where any token will do. */
  right: PlatformRight | null;
  /** The members that the body may have; null where no JSON is taken. */
  members: readonly string[] | null;
  /** The query's parameters; each may be given once. */
  query?: readonly string[];
} & (
  | {
      /** Returns the body of the answer. */
      act: (call: Call) => object;
    }
  | {
      /** Returns what is to become of the lines of the body. */
      feed: (call: Call) => FeedOrder;
    }
);
