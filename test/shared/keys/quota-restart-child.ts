import { accountOf, openLedger } from '../../../shared/keys/quota-ledger.ts';
import { remainingAt } from '../../../shared/keys/ring.ts';

// Run by quota-restart.test.ts: opens the quotas of a database, and prints what is left of each key's limits.

const now = Number(process.env.NOW);
const clock = { nowMs: () => now, monotonicMs: () => 0 };
const ledger = openLedger(process.argv[2] ?? '', clock, () => {});
const keys: Parameters<typeof accountOf>[1][] = JSON.parse(process.env.KEYS ?? '');
const left = keys.map((key) => accountOf(ledger, key).rings.map((ring) => remainingAt(ring, ledger.now())));
ledger.store?.close();
process.stdout.write(JSON.stringify(left));
process.exit(0);
