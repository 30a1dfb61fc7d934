import { countFailure, joinThrottle } from '../../../server/http/throttle.ts';
import { type Clock, openThreadClock } from '../../../shared/clock.ts';
import type { RateLimit } from '../../../shared/limits/rate-limit.ts';
import { takeLock } from '../../../shared/limits/threads/lock.ts';
import { joinLimits, type SharedLimits } from '../../../shared/limits/threads/worker.ts';
import { limitsTime } from '../../../shared/limits/time.ts';

// A worker of threads.test.ts. It spends from accounts as fast as possible and returns when each request was admitted,
// holds a lock, or counts failures and returns how many of them were refused.

declare const self: { onmessage: (event: { data: Task }) => void };

/** The task of such a worker. */
export type Task = { number: number; shared: SharedLimits } & (
  | { kind: 'spend'; keys: { identifier: string; rateLimits: RateLimit[] }[]; untilMs: number; max: number }
  | { kind: 'hold'; at: number }
  | { kind: 'fail'; throttle: SharedArrayBuffer; blocks: string[]; times: number }
);

self.onmessage = ({ data }) => void work(data).then((result) => postMessage(result));

async function work(task: Task): Promise<unknown> {
  const clock: Clock = openThreadClock();
  if (task.kind === 'hold') {
    takeLock(new Int32Array(task.shared.arena), task.at, task.number, 0);
    return 'held';
  }
  if (task.kind === 'fail') {
    const throttle = joinThrottle(task.throttle, task.number, clock);
    let refused = 0;
    for (let turn = 0; turn < task.times; turn++) {
      for (const block of task.blocks) {
        try {
          countFailure(throttle, block);
        } catch {
          refused++;
        }
      }
    }
    return refused;
  }
  const limits = joinLimits(task.shared, task.number, clock);
  const now = limitsTime(clock, task.shared.timeline);
  const admitted: [key: number, before: number, after: number, count: number][] = [];
  for (let turn = 0; now() < task.untilMs && admitted.length < task.max; turn++) {
    const key = turn % task.keys.length;
    const account = task.keys[key] as (typeof task.keys)[number];
    const count = 1 + (Math.floor(turn / task.keys.length) % 3);
    const before = now();
    if (limits.spend(limits.accountOf(account), count) === null) admitted.push([key, before, now(), count]);
  }
  return admitted;
}
