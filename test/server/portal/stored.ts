import { DAY_MS } from '../../../shared/clock.ts';
import type { Deps } from '../../../shared/deps.ts';
import { dayOf, eachOutcome, prepareUsageRows } from '../../../shared/usage/usage.ts';

/** Records uses for each of the last days: `max / (ago + 1)` were answered, half as many exceeded a limit. */
export function useKey({ db, clock }: Deps, identifier: string, days: number, max = 900): void {
  const nowMs = clock.nowMs();
  const store = prepareUsageRows(db.$client);
  for (let ago = 0; ago < days; ago++) {
    const ok = Math.round(max / (ago + 1));
    const counts = { ...eachOutcome(() => 0), ok, notFound: 3, limited: Math.round(ok / 2) };
    store([{ identifier, day: dayOf(nowMs) - ago, ...counts, lastUsedAt: nowMs - ago * DAY_MS }]);
  }
}

/** All rows of these tables, and which mails were stored; a server sends these at some time. */
export function storedIn(db: Deps['db'], tables: readonly string[]): string {
  const rows = tables.map((table) => db.$client.query(`SELECT * FROM ${table}`).all());
  return JSON.stringify([...rows, db.$client.query('SELECT id, identifier, kind FROM mails').all()]);
}
