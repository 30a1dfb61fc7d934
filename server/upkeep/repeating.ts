/** Repeated work. */
export type Repeating = {
  /** Resolves when the first run has ended. */
  readonly first: Promise<void>;
  /** Starts no more runs, and resolves when the current one has ended. */
  readonly stop: () => Promise<void>;
};

/**
 * Runs `work` after `firstMs`, and then repeatedly: each run returns the milliseconds until the next one, and must not throw.
 * The timer doesn't keep the process running.
 */
export function repeat(work: () => Promise<number>, firstMs: number): Repeating {
  const { promise: first, resolve } = Promise.withResolvers<void>();
  let isStopping = false;
  let current = Promise.resolve();
  const run = async () => {
    const nextMs = await work();
    resolve();
    if (!isStopping) schedule(nextMs);
  };
  let timer: Timer;
  const schedule = (inMs: number) => {
    timer = setTimeout(() => {
      current = run();
    }, inMs).unref();
  };
  schedule(firstMs);
  const stop = () => {
    isStopping = true;
    clearTimeout(timer);
    return current;
  };
  return { first, stop };
}
