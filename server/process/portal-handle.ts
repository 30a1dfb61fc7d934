import { type Clock, within } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import type { Log } from '../observability/log.ts';
import type { Connection } from './portal-bridge.ts';
import type { FromPortal, MailsEnd, ToPortal } from './portal-messages.ts';

// This file runs in the main thread. A server loads nothing else of the portal until its first page or mail.

/** The portal's thread, one for the whole server, which answers pages and sends mails. */
export type PortalHandle = {
  /** See `connect` of portal-bridge.ts. */
  connect: (onEnd: () => void) => Connection;
  /** Ends the hung thread with this number; does nothing if it has already ended. */
  end: (thread: number) => void;
  /** Makes the thread open its files, unless they are open, so that it deletes old sessions. */
  wake: () => void;
  /**
   * Sends the mails that are due. Resolves to whether to pause before the next ones, because the mail server accepted
   * nothing or the thread died. Throws the errors of `sendNotices`.
   */
  sendMails: () => Promise<void>;
  /** Announces that the server is about to stop: no more approvals start, but pages are still served. */
  beginStop: () => void;
  /** Waits for background work, then ends the thread; called once no request is in flight. */
  stop: () => Promise<void>;
};

/** What the handle is created from. */
export type PortalHandleParts = {
  config: () => Config;
  clock: Clock;
  log: Log;
  /** For tests: called with each thread that is started. */
  onThread?: (worker: Worker) => void;
  /** For tests: creates a thread that hangs. */
  makeWorker?: () => Worker;
};

type Thread = {
  readonly worker: Worker;
  readonly number: number;
  readonly startedAtMs: number;
  /** Resolves when the thread has finished after being told to stop, or has ended for any other reason. */
  readonly ended: PromiseWithResolvers<void>;
  /** Called when the thread has ended. A port that was posted to it while it was ending would never report that. */
  readonly onEnd: (() => void)[];
  /** Settled with the outcome of the mails that the thread is sending; null while it sends none. */
  mails: PromiseWithResolvers<void> | null;
  lastError: string | null;
};

type State = {
  readonly parts: PortalHandleParts;
  thread: Thread | null;
  threads: number;
  isStopping: boolean;
  diedAtMs: number;
};

/** If a thread dies within this time of its start, no new one is started for the same length of time. */
const PAUSE_MS = 1_000;

/** How long the thread may take to stop: background work may take 15 s to finish, then 2 s to store its state. */
const STOP_MS = 20_000;

/** Creates the handle. The thread is started when it is first used, and when it is used after it has died. */
export function createPortalHandle(parts: PortalHandleParts): PortalHandle {
  const state: State = { parts, thread: null, threads: 0, isStopping: false, diedAtMs: Number.NEGATIVE_INFINITY };
  return {
    connect: (onEnd) => connect(state, onEnd),
    end: (number) => end(state, number),
    wake: () => wake(state),
    sendMails: () => sendMails(state),
    beginStop: () => {
      state.isStopping = true;
      if (state.thread !== null) post(state.thread, { kind: 'stopping' });
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
    post(state.thread, { kind: 'wake' });
  } catch {
    // The thread has just died; the next call restarts it.
  }
}

async function sendMails(state: State): Promise<void> {
  state.thread ??= start(state);
  const { thread } = state;
  thread.mails ??= Promise.withResolvers();
  post(thread, { kind: 'mails' });
  return thread.mails.promise;
}

function start(state: State): Thread {
  const { config, clock, log } = state.parts;
  const startedAtMs = clock.monotonicMs();
  if (startedAtMs - state.diedAtMs < PAUSE_MS) throw new AppError('too_many_pages');
  const thread: Thread = {
    // With `smol`, a small heap that is collected more often, the first page takes 1.1 MiB less, and pages take no longer
    // (`bun test/bench/against.ts <folder> --case memory --case pages`).
    worker: state.parts.makeWorker?.() ?? new Worker(new URL('./portal-thread.ts', import.meta.url), { smol: true }),
    number: ++state.threads,
    startedAtMs,
    ended: Promise.withResolvers(),
    onEnd: [],
    mails: null,
    lastError: null,
  };
  thread.worker.onmessage = ({ data }: MessageEvent<FromPortal>) => onThreadMessage(thread, log, data);
  thread.worker.onerror = (event) => {
    // Without this, the error would be an uncaught error of the main thread.
    event.preventDefault();
    thread.lastError = event.message;
  };
  thread.worker.addEventListener('close', () => removeThread(state, thread));
  state.parts.onThread?.(thread.worker);
  post(thread, { kind: 'start', config: config() });
  if (state.isStopping) post(thread, { kind: 'stopping' });
  return thread;
}

function onThreadMessage(thread: Thread, log: Log, message: FromPortal): void {
  if (message.kind === 'mails') endMails(thread, message.end);
  else if (message.kind === 'event') {
    const { level, message: text, cause, requestId } = message.event;
    log.event(level, text, { ...(cause !== undefined && { cause }), ...(requestId !== undefined && { requestId }) });
  } else thread.ended.resolve();
}

function endMails(thread: Thread, end: MailsEnd): void {
  if (end === null) thread.mails?.resolve();
  else thread.mails?.reject(new AppError(end.code, end.sentence, { cause: end.cause }));
  thread.mails = null;
}

/** Removes a thread that has ended, so that the next request starts a new one. May be called twice. */
function removeThread(state: State, thread: Thread): void {
  thread.ended.resolve();
  thread.mails?.resolve();
  if (state.thread !== thread) return;
  state.thread = null;
  for (const onEnd of thread.onEnd) onEnd();
  const { clock, log } = state.parts;
  const diedAtMs = clock.monotonicMs();
  if (diedAtMs - thread.startedAtMs < PAUSE_MS) state.diedAtMs = diedAtMs;
  const cause = thread.lastError ?? 'The thread has ended.';
  log.event('error', "The portal's thread died; the next request restarts it.", { cause });
}

async function stop(state: State): Promise<void> {
  const { thread } = state;
  if (thread === null) return;
  post(thread, { kind: 'stop' });
  await within(thread.ended.promise, STOP_MS);
  state.thread = null;
  thread.worker.terminate();
}

function post({ worker }: Thread, message: ToPortal): void {
  worker.postMessage(message);
}
