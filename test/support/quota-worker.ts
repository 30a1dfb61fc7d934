import { joinThrottle } from '../../server/throttle.ts';
import { type Clock, openThreadClock } from '../../shared/clock.ts';
import { openAccountMemory, type SharedBuffers } from '../../shared/keys/account-memory.ts';
import type { Timeline } from '../../shared/keys/quota-clock.ts';
import { accountOf, joinLedger, spend } from '../../shared/keys/quota-ledger.ts';
import type { RateLimit } from '../../shared/keys/rate-limit.ts';
import { takeLock } from '../../shared/keys/shared-lock.ts';

// A worker of shared-accounts.test.ts: spends from accounts as fast as it can, and says when each was admitted.

declare const self: { onmessage: (event: { data: Task }) => void };

/** What such a worker is given to do. */
export type Task = { number: number; buffers: SharedBuffers; timeline: Timeline } & (
  | { kind: 'spend'; keys: { identifier: string; rateLimits: RateLimit[] }[]; untilMs: number; most: number }
  | { kind: 'hold'; at: number }
  | { kind: 'fail'; throttle: SharedArrayBuffer; blocks: string[]; times: number }
);

self.onmessage = ({ data }) => void work(data).then((result) => postMessage(result));

async function work(task: Task): Promise<unknown> {
  const clock: Clock = await openThreadClock();
  const memory = openAccountMemory(task.buffers, task.number);
  const ledger = joinLedger(clock, task.timeline, memory, () => {});
  if (task.kind === 'hold') {
    takeLock(memory.words, task.at, task.number, memory.mostNaps);
    return 'held';
  }
  if (task.kind === 'fail') {
    const throttle = joinThrottle(task.throttle, task.number, clock);
    let refused = 0;
    for (let turn = 0; turn < task.times; turn++) {
      for (const block of task.blocks) {
        try {
          throttle.count(block);
        } catch {
          refused++;
        }
      }
    }
    return refused;
  }
  const admitted: [key: number, before: number, after: number, count: number][] = [];
  for (let turn = 0; ledger.now() < task.untilMs && admitted.length < task.most; turn++) {
    const key = turn % task.keys.length;
    const of = task.keys[key] as (typeof task.keys)[number];
    const count = 1 + (Math.floor(turn / task.keys.length) % 3);
    const before = ledger.now();
    if (spend(ledger, accountOf(ledger, of), count) === null) admitted.push([key, before, ledger.now(), count]);
  }
  return admitted;
}
