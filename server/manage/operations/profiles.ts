import { z } from 'zod';
import type { BackendToken } from '../../../shared/backends/backend-tokens.ts';
import { AppError } from '../../../shared/errors.ts';
import { readAsOf } from '../../../shared/profiles/import/as-of.ts';
import type { FeedOrder } from '../../../shared/profiles/import/feed.ts';
import { inQuery } from '../input.ts';

/** The query of `POST /manage/v1/profiles`. {@link orderOf} checks the time in `as-of`. */
export const FEED_QUERY = z.object({
  mode: inQuery(
    z.enum(['replace', 'merge'], { error: 'mode must be replace or merge.' }),
    'Whether a line replaces the profile, or changes only the fields in the line.',
  ),
  partial: inQuery(z.literal('1', { error: 'partial must be 1, or absent.' }), 'Skip bad lines and import the rest.'),
  'as-of': inQuery(
    z.string().meta({ format: 'date-time' }),
    'When the backend read the lines: lines of profiles that were written or erased here since then are skipped, and counted as `newer`. Not in the future, and at most 40 days ago.',
  ),
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
