import { blockOf } from '../../../server/http/transport.ts';
import { countFailure, createFailureThrottle } from '../../../shared/throttle.ts';

// Run by strangers.test.ts as its own process: of 200 000 addresses, each fails once, and a quarter once more often than
// is allowed. Prints how many failures there were, how many of them were refused, and by how many bytes memory grew.

const ADDRESSES = 200_000;
let now = 0;
const throttle = createFailureThrottle({ monotonicMs: () => now });
Bun.gc(true);
const before = process.memoryUsage.rss();
let failures = 0;
let refused = 0;
for (let address = 0; address < ADDRESSES; address++) {
  const groups = [address >>> 16, address & 0xffff].map((group) => group.toString(16));
  const block = blockOf(
    address % 2 === 0
      ? `2001:db8:${groups.join(':')}::1`
      : `10.${[16, 8, 0].map((by) => (address >>> by) & 255).join('.')}`,
  );
  const times = address % 8 < 2 ? 31 : 1;
  for (let turn = 0; turn < times; turn++) {
    failures++;
    try {
      countFailure(throttle, block);
    } catch {
      refused++;
    }
  }
  now += 0.1;
}
Bun.gc(true);
process.stdout.write(JSON.stringify({ failures, refused, used: process.memoryUsage.rss() - before }));
