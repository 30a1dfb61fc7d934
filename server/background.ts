import { within } from '../shared/clock.ts';

/** Work that continues after its response was sent: mails, and approvals, which wait for a mail server. */
export type Background = { readonly running: Set<Promise<void>>; readonly giveUp: AbortController };

/** How long work may take to finish once the server stops, and then to store that it was aborted. */
const STOP_MS = { finish: 10_000, store: 2_000 } as const;

/** Creates an empty set of work. */
export function createBackground(): Background {
  return { running: new Set(), giveUp: new AbortController() };
}

/**
 * Starts work once the current response is sent. If the server stops and the work has not ended 10 seconds later, its signal
 * is aborted, and it has 2 more seconds to store its state. `onFault` is called with the error that it throws.
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

/** Waits until no work is in progress, including work started while waiting. */
export async function settleBackground({ running }: Background): Promise<void> {
  while (running.size > 0) await Promise.all(running);
}

/** Waits for the work, 10 seconds at most; then aborts it and waits for 2 more. */
export async function stopBackground(background: Background): Promise<void> {
  if ((await within(settleBackground(background), STOP_MS.finish)) !== 'too late') return;
  background.giveUp.abort();
  await within(settleBackground(background), STOP_MS.store);
}
