import { z } from 'zod';
import type { BackendToken } from '../../../shared/backends/backend-tokens.ts';
import { AppError } from '../../../shared/errors.ts';
import { readAsOf } from '../../../shared/profiles/import/as-of.ts';
import type { FeedOrder } from '../../../shared/profiles/import/feed.ts';

/** The query of `POST /manage/v1/profiles`. {@link orderOf} checks the time in `as-of`. */
export const FEED_QUERY = z.object({
  mode: z.enum(['replace', 'merge'], { error: 'mode must be replace or merge.' }).optional(),
  partial: z.literal('1', { error: 'partial must be 1, or absent.' }).optional(),
  'as-of': z.string().optional(),
});

/** The order for the import, from a backend's token and the query. Throws `bad_parameter`. */
export function orderOf(token: BackendToken, query: z.output<typeof FEED_QUERY>, nowMs: number): FeedOrder {
  const { identifier, name, excludesContactFields, eraseLimit } = token;
  const asOf = query['as-of'];
  const read = asOf === undefined ? { atMs: null } : readAsOf(asOf, nowMs);
  if ('fault' in read) throw new AppError('bad_parameter', `as-of ${read.fault}.`);
  const order = { merge: query.mode === 'merge', partial: query.partial === '1', asOfMs: read.atMs };
  return { token: identifier, name, excludesContactFields, eraseLimit, ...order };
}
