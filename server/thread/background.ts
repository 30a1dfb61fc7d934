import { within } from '../../shared/clock.ts';

// Work that continues after its page was answered: mails, and approvals, which wait for a mail server.

/** The work in progress, and what aborts it. */
export type Background = { readonly running: Set<Promise<void>>; readonly giveUp: AbortController };

/** How long work may take to finish once the server stops, and then to store that it was aborted. */
const STOP_MS = { finish: 15_000, store: 2_000 } as const;

/** Makes an empty set of work. */
export function createBackground(): Background {
  return { running: new Set(), giveUp: new AbortController() };
}

/**
 * Starts work once the current answer is sent. Its signal is aborted if the server stops and the work has not ended 15
 * seconds later: then it has 2 more to store its state. What it throws goes to `onFault`.
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

/** Waits until no work is in progress, including work that starts meanwhile. */
export async function settleBackground({ running }: Background): Promise<void> {
  while (running.size > 0) await Promise.all(running);
}

/** Waits for the work, by default 15 seconds at most; then aborts its signal and waits for 2 more. */
export async function stopBackground(background: Background, finishMs: number = STOP_MS.finish): Promise<void> {
  if ((await within(settleBackground(background), finishMs)) !== 'too late') return;
  background.giveUp.abort();
  await within(settleBackground(background), STOP_MS.store);
}
