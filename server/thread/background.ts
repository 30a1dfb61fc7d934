// Work that is done when its page is answered already: mails, and approvals, which wait for a mail server.

/** The work that is under way. */
export type Background = { readonly running: Set<Promise<void>>; readonly giveUp: AbortController };

/** How long work may go on once the server stops, and then how long it has to store that it was given up. */
const STOP_MS = { finish: 15_000, store: 2_000 } as const;

/** No work yet. */
export function createBackground(): Background {
  return { running: new Set(), giveUp: new AbortController() };
}

/**
 * Begins work after the present answer is sent. The signal is aborted where the server stops and the work has not ended
 * within 15 seconds: then it has 2 more to store what is known. What it throws goes to `onFault`.
 */
export function runInBackground(
  { running, giveUp }: Background,
  work: (signal: AbortSignal) => void | Promise<void>,
  onFault: (cause: unknown) => void,
): void {
  const { promise, resolve } = Promise.withResolvers<void>();
  running.add(promise);
  setImmediate(async () => {
    try {
      await work(giveUp.signal);
    } catch (cause) {
      onFault(cause);
    } finally {
      running.delete(promise);
      resolve();
    }
  });
}

/** Waits until no work is under way; work that begins in the meantime included. */
export async function settleBackground({ running }: Background): Promise<void> {
  while (running.size > 0) await Promise.all(running);
}

/** Waits for the work, for 15 seconds at most; then aborts its signal and waits 2 seconds more. */
export async function stopBackground(background: Background, finishMs: number = STOP_MS.finish): Promise<void> {
  if (await settlesWithin(background, finishMs)) return;
  background.giveUp.abort();
  await settlesWithin(background, STOP_MS.store);
}

async function settlesWithin(background: Background, milliseconds: number): Promise<boolean> {
  const { promise: tooLate, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, milliseconds, false);
  const isSettled = await Promise.race([settleBackground(background).then(() => true), tooLate]);
  clearTimeout(timer);
  return isSettled;
}
