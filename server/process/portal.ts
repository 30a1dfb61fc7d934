import type { Clock } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import type { Log } from '../observability/log.ts';
import type { Connection } from './portal-bridge.ts';
import type { FromPortal, MailsEnd, ToPortal } from './portal-messages.ts';

// This file runs in the main thread, and is all that a server without a visitor loads of the pages.

/** The thread that answers pages and sends mails, for the whole server. */
export type Portal = {
  /**
   * Opens a port to the thread, which is started where none runs; `onEnd` is called when that has ended. Throws `too_many_pages`
   * where one has just died.
   */
  connect: (onEnd: () => void) => Connection;
  /** Ends the thread of this number, which hangs; does nothing where that has ended already. */
  end: (thread: number) => void;
  /** Has the thread open the files where it has not, so that it deletes who was signed in long ago. */
  wake: () => void;
  /**
   * Sends the mails that are due. Resolves to whether to wait a while before the next ones: where the mail server takes
   * nothing, or the thread dies over them. Throws the errors of `sendNotices`.
   */
  sendMails: () => Promise<boolean>;
  /** Says that the server begins to stop: no approval is begun any more, and pages are answered as before. */
  beginStop: () => void;
  /** Finishes what pages have begun, then ends the thread; called when no request is in flight any more. */
  stop: () => Promise<void>;
};

/** What the thread works with, and where it tells what went wrong. */
export type PortalParts = {
  config: () => Config;
  clock: Clock;
  log: Log;
  /** Called with each thread that is started; tests use it. */
  onThread?: (worker: Worker) => void;
  /** Makes the thread; tests make one that hangs. */
  makeWorker?: () => Worker;
};

/** A thread, as the main thread sees it. */
type Thread = {
  readonly worker: Worker;
  readonly number: number;
  readonly startedAtMs: number;
  /** Resolves when the thread has finished after the order to stop, or has ended for whatever reason. */
  readonly ended: PromiseWithResolvers<void>;
  /** Whom to tell that the thread has ended: a port that was sent to it too late is never closed. */
  readonly onEnd: (() => void)[];
  /** Whom to tell what came of the mails that it sends just now. */
  mails: PromiseWithResolvers<boolean> | null;
  lastError: string | null;
};

/** The thread, if one runs, and how many have been started. */
type State = {
  readonly parts: PortalParts;
  thread: Thread | null;
  threads: number;
  isStopping: boolean;
  diedAtMs: number;
};

/** After a death within this time of its start, a thread is not started again for as long. */
const PAUSE_MS = 1_000;

/** How long the thread may take after the order to stop; it gives its own work 15 s and then 2 s to be stored. */
const STOP_MS = 20_000;

/** Prepares the thread, which the first request starts, and the next request after its death. */
export function createPortal(parts: PortalParts): Portal {
  const state: State = { parts, thread: null, threads: 0, isStopping: false, diedAtMs: Number.NEGATIVE_INFINITY };
  return {
    connect: (onEnd) => connect(state, onEnd),
    end: (number) => end(state, number),
    wake: () => wake(state),
    sendMails: () => sendMails(state),
    beginStop: () => {
      state.isStopping = true;
      if (state.thread !== null) tell(state.thread, { kind: 'stopping' });
    },
    stop: () => stop(state),
  };
}

function connect(state: State, onEnd: () => void): Connection {
  state.thread ??= start(state);
  state.thread.onEnd.push(onEnd);
  const { port1, port2 } = new MessageChannel();
  state.thread.worker.postMessage({ kind: 'port', port: port2 } satisfies ToPortal, [port2]);
  return { port: port1, thread: state.thread.number };
}

function end(state: State, number: number): void {
  const { thread } = state;
  if (thread?.number !== number) return;
  thread.lastError = 'The thread hung.';
  thread.worker.terminate();
  removeThread(state, thread);
}

function wake(state: State): void {
  if (state.isStopping) return;
  try {
    state.thread ??= start(state);
    tell(state.thread, { kind: 'wake' });
  } catch {
    // It has just died, and is woken the next time.
  }
}

async function sendMails(state: State): Promise<boolean> {
  state.thread ??= start(state);
  const { thread } = state;
  thread.mails ??= Promise.withResolvers();
  tell(thread, { kind: 'mails' });
  return thread.mails.promise;
}

function start(state: State): Thread {
  const { config, clock, log } = state.parts;
  const startedAtMs = clock.monotonicMs();
  if (startedAtMs - state.diedAtMs < PAUSE_MS) throw new AppError('too_many_pages');
  const thread: Thread = {
    worker: state.parts.makeWorker?.() ?? new Worker(new URL('./portal-thread.ts', import.meta.url)),
    number: ++state.threads,
    startedAtMs,
    ended: Promise.withResolvers(),
    onEnd: [],
    mails: null,
    lastError: null,
  };
  thread.worker.onmessage = ({ data }: MessageEvent<FromPortal>) => take(thread, log, data);
  thread.worker.onerror = (event) => {
    // Without this the error of the thread would be an uncaught error of the main thread.
    event.preventDefault();
    thread.lastError = event.message;
  };
  thread.worker.addEventListener('close', () => removeThread(state, thread));
  state.parts.onThread?.(thread.worker);
  tell(thread, { kind: 'start', config: config() });
  if (state.isStopping) tell(thread, { kind: 'stopping' });
  return thread;
}

function take(thread: Thread, log: Log, message: FromPortal): void {
  if (message.kind === 'mails') endMails(thread, message.end);
  else if (message.kind === 'event') {
    const { level, message: text, cause, requestId } = message.event;
    log.event(level, text, { ...(cause !== undefined && { cause }), ...(requestId !== undefined && { requestId }) });
  } else thread.ended.resolve();
}

function endMails(thread: Thread, end: MailsEnd): void {
  if ('isToPause' in end) thread.mails?.resolve(end.isToPause);
  else thread.mails?.reject(new AppError(end.code, end.sentence, { cause: end.cause }));
  thread.mails = null;
}

/** The next request starts a new thread. Does nothing where that is known already. */
function removeThread(state: State, thread: Thread): void {
  thread.ended.resolve();
  thread.mails?.resolve(true);
  if (state.thread !== thread) return;
  state.thread = null;
  for (const onEnd of thread.onEnd) onEnd();
  const { clock, log } = state.parts;
  const diedAtMs = clock.monotonicMs();
  if (diedAtMs - thread.startedAtMs < PAUSE_MS) state.diedAtMs = diedAtMs;
  const cause = thread.lastError ?? 'The thread has ended.';
  log.event('error', 'The thread for pages died; the next request starts it again.', { cause });
}

async function stop(state: State): Promise<void> {
  const { thread } = state;
  if (thread === null) return;
  tell(thread, { kind: 'stop' });
  const patience = setTimeout(thread.ended.resolve, STOP_MS);
  await thread.ended.promise;
  clearTimeout(patience);
  state.thread = null;
  thread.worker.terminate();
}

function tell({ worker }: Thread, message: ToPortal): void {
  worker.postMessage(message);
}
