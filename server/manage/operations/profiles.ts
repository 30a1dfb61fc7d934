import { AppError } from '../../../shared/errors.ts';
import { readAsOf } from '../../../shared/profiles/write/as-of.ts';
import type { FeedOrder } from '../../../shared/profiles/write/feed.ts';
import { type Call, platformTokenOf } from '../call.ts';

/** The path of {@link profiles}, whose body is not read before the token is known. */
export const FEED_PATH = '/manage/v1/profiles';

/** `POST /manage/v1/profiles?mode=replace|merge&partial=1&as-of=…`: what is to become of the lines. Throws `bad_parameter`. */
export function profiles({ access, caller, query }: Call): FeedOrder {
  const { name, isWithoutAddress, eraseLimit } = platformTokenOf({ caller });
  const mode = query.get('mode') ?? 'replace';
  const partial = query.get('partial');
  if (mode !== 'replace' && mode !== 'merge') throw new AppError('bad_parameter', 'mode must be replace or merge.');
  if (partial !== undefined && partial !== '1') throw new AppError('bad_parameter', 'partial must be 1, or absent.');
  const asOf = query.get('as-of');
  const read = asOf === undefined ? { atMs: null } : readAsOf(asOf, access.clock.nowMs());
  if ('fault' in read) throw new AppError('bad_parameter', `as-of ${read.fault}.`);
  const order = { merge: mode === 'merge', partial: partial === '1', asOfMs: read.atMs };
  return { name, isWithoutAddress, eraseLimit, ...order };
}
