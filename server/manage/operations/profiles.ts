import type { BackendToken } from '../../../shared/backends/backend-tokens.ts';
import { AppError } from '../../../shared/errors.ts';
import { readAsOf } from '../../../shared/profiles/import/as-of.ts';
import type { FeedOrder } from '../../../shared/profiles/import/feed.ts';

/** The parameters of {@link readOrder}. */
export const FEED_PARAMETERS = ['mode', 'partial', 'as-of'] as const;

/** Reads the query of `POST /manage/v1/profiles?mode=replace|merge&partial=1&as-of=…`. Throws `bad_parameter`. */
export function readOrder(token: BackendToken, query: ReadonlyMap<string, string>, nowMs: number): FeedOrder {
  const { identifier, name, isWithoutAddress, eraseLimit } = token;
  const mode = query.get('mode') ?? 'replace';
  const partial = query.get('partial');
  if (mode !== 'replace' && mode !== 'merge') throw new AppError('bad_parameter', 'mode must be replace or merge.');
  if (partial !== undefined && partial !== '1') throw new AppError('bad_parameter', 'partial must be 1, or absent.');
  const asOf = query.get('as-of');
  const read = asOf === undefined ? { atMs: null } : readAsOf(asOf, nowMs);
  if ('fault' in read) throw new AppError('bad_parameter', `as-of ${read.fault}.`);
  const order = { merge: mode === 'merge', partial: partial === '1', asOfMs: read.atMs };
  return { token: identifier, name, isWithoutAddress, eraseLimit, ...order };
}
