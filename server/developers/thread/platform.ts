import { AppError } from '../../../shared/errors.ts';
import type { Log } from '../../observability/log.ts';
import type { FromPlatform, MailsEnd, PageAnswer, PageRequest, ToPlatform } from '../messages.ts';
import type { PlatformParts, State, Thread } from './platform-state.ts';

// This file runs in the main thread, and is all that a server without a visitor loads of the pages.

/** Answers requests for pages under `/developers`, and sends mails that are due, for the whole server. */
export type Platform = {
  /**
   * Answers a request; with a refusal where the thread dies over it, does not answer within 8 seconds, or has just died and is
   * not started again yet. Never throws.
   */
  ask: (request: PageRequest) => Promise<PageAnswer>;
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

/** After a death within this time of its start, a thread is not started again for as long. */
const PAUSE_MS = 1_000;

/**
 * A request that waits longer for its answer is refused: soon after, the listener would close its connection. A thread that
 * answers nothing at all for twice as long hangs, and is replaced. Waiting for a lock takes 2 seconds at most.
 */
const ANSWER_MS = 8_000;

/** How long the thread may take after the order to stop; it gives its own work 15 s and then 2 s to be stored. */
const STOP_MS = 20_000;

/** Prepares the platform thread, which the first request starts, and the next request after its death. */
export function createPlatform(parts: PlatformParts): Platform {
  const state: State = { parts, thread: null, requests: 0, isStopping: false, diedAtMs: Number.NEGATIVE_INFINITY };
  return {
    ask: async (request) => {
      try {
        return await ask(state, request);
      } catch (error) {
        const { refuseRequest } = await import('./answer.ts');
        return refuseRequest(parts.config(), request, error);
      }
    },
    wake: () => wake(state),
    sendMails: () => sendMails(state),
    beginStop: () => {
      state.isStopping = true;
      if (state.thread !== null) tell(state.thread, { kind: 'stopping' });
    },
    stop: () => stop(state),
  };
}

async function ask(state: State, request: PageRequest): Promise<PageAnswer> {
  state.thread ??= start(state);
  const { thread } = state;
  const id = ++state.requests;
  const waiting = Promise.withResolvers<PageAnswer>();
  thread.open.set(id, waiting);
  tell(thread, { kind: 'page', id, request });
  const patience = setTimeout(() => giveUp(state, thread, id, request.requestId), answerMsOf(state));
  try {
    return await waiting.promise;
  } finally {
    clearTimeout(patience);
  }
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

function answerMsOf({ parts }: State): number {
  return parts.answerMs ?? ANSWER_MS;
}

async function sendMails(state: State): Promise<boolean> {
  state.thread ??= start(state);
  const { thread } = state;
  thread.mails ??= Promise.withResolvers();
  tell(thread, { kind: 'mails' });
  return thread.mails.promise;
}

/**
 * Refuses a request that has waited too long. Where the thread answers nothing for as long again, it is ended; looking twice
 * keeps a thread alive whose whole process was stopped for a while.
 */
function giveUp(state: State, thread: Thread, id: number, requestId: string): void {
  thread.open.get(id)?.reject(unanswered('The server takes too long to answer.'));
  thread.open.delete(id);
  state.parts.log.event('error', 'The thread for pages took too long; a request was refused.', { requestId });
  const { answers } = thread;
  const end = () => {
    if (thread.answers > answers || state.thread !== thread) return;
    thread.lastError = 'The thread hung.';
    thread.worker.terminate();
    removeThread(state, thread);
  };
  setTimeout(end, answerMsOf(state)).unref();
}

/** Nobody knows how far the thread has come with a request that it does not answer. */
function unanswered(what: string): AppError {
  const sentence = `${what} What you sent may have been done all the same: look before you send it again.`;
  return new AppError('busy', sentence, { isForClient: true });
}

function start(state: State): Thread {
  const { config, clock, log } = state.parts;
  const startedAtMs = clock.monotonicMs();
  if (startedAtMs - state.diedAtMs < PAUSE_MS) throw new AppError('too_many_pages');
  const thread: Thread = {
    worker: state.parts.makeWorker?.() ?? new Worker(new URL('./platform-thread.ts', import.meta.url)),
    startedAtMs,
    open: new Map(),
    ended: Promise.withResolvers(),
    answers: 0,
    mails: null,
    lastError: null,
  };
  thread.worker.onmessage = ({ data }: MessageEvent<FromPlatform>) => take(thread, log, data);
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

function take(thread: Thread, log: Log, message: FromPlatform): void {
  if (message.kind === 'answer') {
    thread.answers++;
    thread.open.get(message.id)?.resolve(message.answer);
    thread.open.delete(message.id);
  } else if (message.kind === 'mails') {
    endMails(thread, message.end);
  } else if (message.kind === 'event') {
    const { level, message: text, cause } = message.event;
    log.event(level, text, cause === undefined ? {} : { cause });
  } else thread.ended.resolve();
}

function endMails(thread: Thread, end: MailsEnd): void {
  if ('isToPause' in end) thread.mails?.resolve(end.isToPause);
  else thread.mails?.reject(new AppError(end.code, end.sentence, { cause: end.cause }));
  thread.mails = null;
}

/** Refuses what the thread has not answered. The next request starts a new thread. Does nothing where that is done already. */
function removeThread(state: State, thread: Thread): void {
  thread.ended.resolve();
  thread.mails?.resolve(true);
  if (state.thread !== thread) return;
  state.thread = null;
  const { clock, log } = state.parts;
  const diedAtMs = clock.monotonicMs();
  if (diedAtMs - thread.startedAtMs < PAUSE_MS) state.diedAtMs = diedAtMs;
  const cause = thread.lastError ?? 'The thread has ended.';
  const wasAsked = state.isStopping && thread.open.size === 0;
  if (!wasAsked) log.event('error', 'The thread for pages died; the next request starts it again.', { cause });
  for (const { reject } of thread.open.values()) reject(unanswered('The server failed to answer.'));
  thread.open.clear();
}

async function stop(state: State): Promise<void> {
  const { thread } = state;
  if (thread === null) return;
  tell(thread, { kind: 'stop' });
  const patience = setTimeout(thread.ended.resolve, STOP_MS);
  await thread.ended.promise;
  clearTimeout(patience);
  thread.worker.terminate();
}

function tell({ worker }: Thread, message: ToPlatform): void {
  worker.postMessage(message);
}
