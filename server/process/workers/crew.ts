import type { Clock } from '../../../shared/clock.ts';
import type { AppError } from '../../../shared/errors.ts';
import type { Log } from '../../watching/log.ts';
import { type Member, serveWith, startMember } from './member.ts';
import type { FromWorker, Order, Start } from './messages.ts';

/** The workers of a server, each of which is replaced where it dies. */
export type Crew = {
  /** Those that serve. */
  members: () => Member[];
  /** Gives an order to all that serve. Throws the first fault when all are through. */
  orderAll: (order: Order) => Promise<void>;
  /** How many were replaced. */
  restarts: () => number;
  /** Replaces nobody any more, and ends them after this much time, or when they have stopped. */
  stop: (patienceMs: number) => Promise<void>;
};

/** How the crew is made up, and who hears of it. */
export type CrewOptions = {
  count: number;
  clock: Clock;
  /** What the worker of this number starts with, now. */
  startOf: (number: number) => Start;
  hear: (member: Member, message: FromWorker) => void;
  log: Log;
  /** Told before a dead worker is replaced: what it held has to be freed. */
  onDeath: (number: number) => void;
  /** Told when replacing is no use: so many in a row died before they served. */
  onGiveUp: (cause: unknown) => void;
  /** Told of every worker that is started; for tests. */
  onWorker?: ((worker: Worker, number: number) => void) | undefined;
};

/** One that dies so soon after the last one is replaced after twice the pause, up to the most. */
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const MOST_PAUSE_MS = 5_000;
const MOST_DEAD_STARTS = 5;

/** Starts all of them. Throws what the first that can't start throws, and then none is left. */
export async function startCrew(options: CrewOptions): Promise<Crew> {
  const { count, startOf, log } = options;
  const crew = new Map<number, Member>();
  let isStopping = false;
  let restarts = 0;
  let deadStarts = 0;
  let diedAtMs = Number.NEGATIVE_INFINITY;
  let pauseMs = 0;

  /** How long to wait before the next replacement. */
  function nextPauseMs(): number {
    const nowMs = options.clock.monotonicMs();
    pauseMs = nowMs - diedAtMs > STEADY_MS ? 0 : Math.min(MOST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * pauseMs));
    diedAtMs = nowMs;
    return pauseMs;
  }

  async function start(number: number): Promise<void> {
    const member = startMember(number, options.hear);
    crew.set(number, member);
    options.onWorker?.(member.worker, number);
    try {
      const given = startOf(number);
      await serveWith(member, given);
      // A certificate that was changed meanwhile.
      const { tls } = startOf(number);
      if (tls !== null && tls !== given.tls) await member.order({ kind: 'reload', tls });
    } catch (error) {
      member.worker.terminate();
      await member.ended;
      throw error;
    }
    deadStarts = 0;
    void member.ended.then(() => replace(member));
  }

  async function replace({ number, lastWords }: Member): Promise<void> {
    options.onDeath(number);
    crew.delete(number);
    if (isStopping) return;
    const cause = lastWords === null ? {} : { cause: lastWords };
    log.event('error', `Worker ${number} died and is replaced.`, cause);
    restarts++;
    while (!isStopping) {
      await Bun.sleep(nextPauseMs());
      if (isStopping) return;
      try {
        await start(number);
        if (!isStopping) log.event('info', `Worker ${number} serves again.`);
        return;
      } catch (error) {
        options.onDeath(number);
        crew.delete(number);
        if (isStopping) return;
        log.event('error', `Worker ${number} could not be started.`, { cause: error });
        if (++deadStarts >= MOST_DEAD_STARTS) {
          options.onGiveUp(error);
          return;
        }
      }
    }
  }

  async function orderAll(order: Order): Promise<void> {
    const serving = [...crew.values()].filter(({ isServing }) => isServing);
    const outcomes = await Promise.allSettled(serving.map((member) => member.order(order)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason as AppError;
  }

  async function stop(patienceMs: number): Promise<void> {
    isStopping = true;
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, patienceMs);
    // What a worker could not end by itself is ended below.
    const stopped = orderAll({ kind: 'stop' }).catch((cause) =>
      log.event('error', 'A worker did not stop.', { cause }),
    );
    await Promise.race([stopped, patience.promise]);
    clearTimeout(timer);
    const rest = [...crew.values()];
    for (const { worker } of rest) worker.terminate();
    await Promise.all(rest.map(({ ended }) => ended));
  }

  const outcomes = await Promise.allSettled(Array.from({ length: count }, (_, index) => start(index + 1)));
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue;
    await stop(0);
    throw outcome.reason as AppError;
  }
  return {
    members: () => [...crew.values()].filter(({ isServing }) => isServing),
    orderAll,
    restarts: () => restarts,
    stop,
  };
}
