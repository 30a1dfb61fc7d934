import { AppError } from '../../shared/errors.ts';
import { blockOf } from '../http/client-address.ts';
import { ARRIVED_HEADERS, targetOf } from '../http/forwarded.ts';
import type { Log } from '../observability/log.ts';
import { type FromPort, PING, type ToPort } from './portal-port.ts';
import { type Reading, readBody } from './request-body.ts';

// The way from a thread that serves requests to the portal's thread and back. Nothing here knows what is asked for. What
// is posted here, `portal-port.ts` receives there; that thread begins with `portal-thread.ts`, which has the pages.

/** What the serving thread knows of a request: the client's address, behind the trusted proxies, and the id in the log. */
export type Arrived = { address: string; requestId: string };

/**
 * How many requests may wait for their answer in this thread, and be under way from one address block. Each may hold a body of
 * 64 KiB.
 */
const MAX_OPEN = { all: 256, block: 32 } as const;

/**
 * A request that waits longer for its answer is refused: soon after, the listener would close its connection. A thread that
 * does not even answer a ping for as long again hangs, and is replaced. Waiting for a lock takes 2 seconds at most.
 */
const ANSWER_MS = 8_000;

/** A port to the portal's thread, and the number of that thread. */
export type Connection = { port: MessagePort; thread: number };

/** What a bridge works with. */
export type BridgeParts = {
  log: Log;
  /**
   * Opens a port, and starts the thread where none runs; `onEnd` is called when the thread has ended, for whatever reason.
   * Throws `too_many_pages` where one has just died.
   */
  connect: (onEnd: () => void) => Connection | Promise<Connection>;
  /** Ends the thread of this number, which hangs. */
  end: (thread: number) => void;
  /** Makes the answer to a request that the thread has not answered, because of this error. */
  refuse: (request: Request, error: unknown) => Promise<Response>;
  /** How long a request waits for its answer, in milliseconds, 8 seconds by default; tests wait shorter. */
  answerMs?: number | undefined;
};

/** A connection in use. */
type Line = Connection & {
  /** Whom to answer, by the number of the request. */
  readonly waiting: Map<number, PromiseWithResolvers<Response>>;
  /** How many messages have come from the thread. */
  heard: number;
};

type State = BridgeParts & {
  /** How many requests are under way, by address block. */
  readonly open: Map<string, number>;
  readonly reading: Reading;
  line: Promise<Line> | null;
  requests: number;
  waiting: number;
};

/** The portal, as a thread that serves requests sees it. */
export type Bridge = {
  /**
   * Has the portal answer a request. Never throws: what the thread does not answer, because it dies over it or takes longer
   * than 8 seconds, is refused, and so is what is too much for it.
   */
  fetch: (request: Request, arrived: Arrived) => Promise<Response>;
};

/** Makes the bridge of this thread. The first request connects it, and the next one after the death of the portal's thread. */
export function createBridge(parts: BridgeParts): Bridge {
  const state: State = { ...parts, open: new Map(), reading: new Set(), line: null, requests: 0, waiting: 0 };
  return { fetch: (request, arrived) => pass(state, request, arrived) };
}

async function pass(state: State, request: Request, { address, requestId }: Arrived): Promise<Response> {
  const { method, url } = request;
  const headers = new Headers(request.headers);
  headers.set(ARRIVED_HEADERS.address, address);
  headers.set(ARRIVED_HEADERS.requestId, requestId);
  const { path, query } = targetOf(url);
  // No Host matters to the portal. A fragment is no part of a URL that is sent, so that a `#` is one of the path or the query.
  const target = `${path}${query === '' ? '' : '?'}${query}`.replaceAll('#', '%23');
  const sent: ToPort = {
    id: ++state.requests,
    method,
    url: `http://portal${target}`,
    headers: [...headers],
    body: null,
  };
  const leave = enter(state.open, blockOf(address));
  try {
    if (leave === null) throw new AppError('too_many_pages');
    sent.body = await readBody(request, state.reading);
    return await send(state, sent, requestId);
  } catch (error) {
    return state.refuse(new Request(sent.url, sent), error);
  } finally {
    leave?.();
  }
}

/** Counts a request of an address block; returns what counts it off again, or null where there are too many. */
function enter(open: Map<string, number>, block: string): (() => void) | null {
  const count = open.get(block) ?? 0;
  if (count >= MAX_OPEN.block) return null;
  open.set(block, count + 1);
  return () => {
    const left = (open.get(block) as number) - 1;
    if (left === 0) open.delete(block);
    else open.set(block, left);
  };
}

async function send(state: State, sent: ToPort, requestId: string): Promise<Response> {
  if (state.waiting >= MAX_OPEN.all) throw new AppError('too_many_pages');
  state.waiting++;
  let patience: Timer | undefined;
  try {
    state.line ??= openLine(state).catch((error) => {
      state.line = null;
      throw error;
    });
    const line = await state.line;
    const answer = Promise.withResolvers<Response>();
    line.waiting.set(sent.id, answer);
    line.port.postMessage(sent);
    patience = setTimeout(() => giveUp(state, line, sent.id, requestId), state.answerMs ?? ANSWER_MS);
    return await answer.promise;
  } finally {
    clearTimeout(patience);
    state.waiting--;
  }
}

async function openLine(state: State): Promise<Line> {
  const waiting: Line['waiting'] = new Map();
  const close = () => {
    state.line = null;
    for (const { reject } of waiting.values()) reject(unanswered('The server failed to answer.'));
  };
  const line: Line = { ...(await state.connect(close)), waiting, heard: 0 };
  line.port.onmessage = ({ data }: { data: FromPort }) => hear(line, data);
  return line;
}

function hear(line: Line, message: FromPort): void {
  line.heard++;
  if (message === PING) return;
  const { id, body, ...init } = message;
  const isPage = new Headers(init.headers).get('Content-Type')?.startsWith('text/html') ?? false;
  line.waiting.get(id)?.resolve(new Response(isPage ? sentAtOnce(body) : body, init));
  line.waiting.delete(id);
}

/** Up to this size, Bun sends an answer that its handler did not have at once in one call of the system, with its head. */
const SENT_AT_ONCE_BYTES = 14 * 1024;

/**
 * A body that Bun 1.4.5 sends together with the head. Of a longer one it would send each name and each value of the head
 * alone: some forty calls and packets, which take as long as a page. A direct stream has no Content-Length, which the
 * document of /manage promises, so only pages are sent so.
 */
function sentAtOnce(bytes: ArrayBuffer): ArrayBuffer | ReadableStream {
  if (bytes.byteLength <= SENT_AT_ONCE_BYTES) return bytes;
  return new ReadableStream({
    type: 'direct',
    pull: (controller) => {
      controller.write(bytes);
      controller.end();
    },
  });
}

/**
 * Refuses a request that has waited too long. Where the thread is silent for as long again, it is ended; looking twice keeps
 * a thread alive whose whole process was stopped for a while.
 */
function giveUp(state: State, line: Line, id: number, requestId: string): void {
  line.waiting.get(id)?.reject(unanswered('The server takes too long to answer.'));
  line.waiting.delete(id);
  state.log.event('error', 'The thread for pages took too long; a request was refused.', { requestId });
  const { heard } = line;
  line.port.postMessage(PING);
  const look = () => {
    if (line.heard === heard) state.end(line.thread);
  };
  setTimeout(look, state.answerMs ?? ANSWER_MS).unref();
}

/** Nobody knows how far the thread has come with a request that it does not answer. */
function unanswered(what: string): AppError {
  const sentence = `${what} What you sent may have been done all the same: look before you send it again.`;
  return new AppError('busy', sentence, { isForClient: true });
}
