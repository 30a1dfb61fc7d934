import { systemClock } from '../../shared/clock.ts';
import { accountOf, look, openLedger } from '../../shared/keys/quota-ledger.ts';
import type { RateLimit } from '../../shared/keys/rate-limit.ts';

/** What remains of a key's one rate limit by what stands in the quota file, as a server finds it that starts now. */
export function remainingInFile(databasePath: string, identifier: string, limit: RateLimit): number | undefined {
  const ledger = openLedger(databasePath, systemClock, () => undefined);
  const account = accountOf(ledger, { identifier, rateLimits: [limit] });
  look(ledger, account);
  ledger.store?.close();
  return account.rings[0]?.remaining;
}
