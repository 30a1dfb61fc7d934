/** Work that is repeated. */
export type Repeating = {
  /** Resolves when the first run has ended. */
  readonly first: Promise<void>;
  /** Starts no further run, and resolves when the current one has ended. */
  readonly stop: () => Promise<void>;
};

/**
 * Runs `work` after `firstMs`, and again whenever as many milliseconds have passed as it returned; it must not throw. Waiting
 * for the next run doesn't keep the process running.
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
