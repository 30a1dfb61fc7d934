import { AppError } from '../../shared/errors.ts';
import { blockOf } from '../http/transport.ts';
import type { Log } from '../observability/log.ts';
import { ARRIVED_HEADERS } from '../thread/forwarded.ts';
import { type FromPort, type FromThread, PING, type ToPort } from './portal-port.ts';
import { type Reading, readBody } from './request-body.ts';

// Forwards requests from a serving thread to the portal's thread, and its responses back. The other end is `portal-port.ts`,
// in the thread that `portal-thread.ts` starts.

/** The client's IP address (behind trusted proxies) and the request's id in the log. */
export type Arrived = { address: string; requestId: string };

/**
 * How many requests of this thread may wait for a response, and how many of one address block may be in progress. Each may
 * have a body of 64 KiB.
 */
const MAX_OPEN = { all: 256, block: 32 } as const;

/**
 * A request that waits longer is refused, before the listener closes its idle connection. A thread that doesn't answer a ping
 * for as long again hangs, and is replaced. It waits 2 seconds at most for locks, however many it needs.
 */
const ANSWER_MS = 8_000;

/** A port to the portal's thread, and the number of that thread. */
export type Connection = { port: MessagePort; thread: number };

/** What a bridge is created from. */
export type BridgeParts = {
  log: Log;
  /**
   * Opens a port, and starts the thread if none runs: `connect` of portal-handle.ts, which a worker calls by a message to the
   * main thread. `onEnd` is called when the thread has ended, for whatever reason. Throws `too_many_pages` if a thread has
   * just died.
   */
  connect: (onEnd: () => void) => Connection | Promise<Connection>;
  /** Ends the thread with this number, which hangs. */
  end: (thread: number) => void;
  /** Creates the response to a request that the thread did not answer because of this error. */
  refuse: (request: Request, error: unknown) => Promise<Response>;
  /** How long a request may wait, 8 seconds by default; tests shorten it. */
  answerMs?: number | undefined;
};

type Line = Connection & {
  /** The requests without a response yet, by their number. */
  readonly waiting: Map<number, PromiseWithResolvers<FromThread>>;
  /** How many messages the thread has sent. */
  received: number;
};

type State = BridgeParts & {
  /** How many requests are in progress, by address block. */
  readonly open: Map<string, number>;
  readonly reading: Reading;
  line: Promise<Line> | null;
  requests: number;
  waiting: number;
};

/** The portal, as a serving thread sees it. */
export type Bridge = {
  /**
   * Forwards a request to the portal. Never throws: the request is refused if the thread dies or takes longer than 8 seconds,
   * or if too many are waiting.
   */
  fetch: (request: Request, arrived: Arrived) => Promise<Response>;
};

/** Creates this thread's bridge. It is connected by the first request, and by the first one after the thread has died. */
export function createBridge(parts: BridgeParts): Bridge {
  const state: State = { ...parts, open: new Map(), reading: new Set(), line: null, requests: 0, waiting: 0 };
  return { fetch: (request, arrived) => forward(state, request, arrived) };
}

async function forward(state: State, request: Request, { address, requestId }: Arrived): Promise<Response> {
  const { method, url } = request;
  // The portal ignores the Host. Clients never send a fragment, so a `#` belongs to the path or the query.
  const target = `http://portal${url.slice(url.indexOf('/', url.indexOf('//') + 2)).replaceAll('#', '%23')}`;
  const releaseSlot = acquireSlot(state.open, blockOf(address));
  // In a flood, a request is refused before any other work, because lookups wait for this thread.
  if (releaseSlot === null && request.body === null) {
    return refuse(state, new Request(target, { method, headers: request.headers }), new AppError('too_many_pages'));
  }
  const headers = new Headers(request.headers);
  headers.set(ARRIVED_HEADERS.address, address);
  headers.set(ARRIVED_HEADERS.requestId, requestId);
  const sent: ToPort = {
    id: ++state.requests,
    method,
    url: target,
    headers: [...headers],
    body: null,
  };
  try {
    if (releaseSlot === null) throw new AppError('too_many_pages');
    sent.body = await readBody(request, state.reading);
    return await send(state, sent, requestId);
  } catch (error) {
    return refuse(state, new Request(sent.url, sent), error);
  } finally {
    releaseSlot?.();
  }
}

async function refuse(state: State, request: Request, error: unknown): Promise<Response> {
  const refused = await state.refuse(request, error);
  return responseOf(request.method, refused.status, refused.headers, await refused.arrayBuffer());
}

/** Counts a request of an address block; returns a function that releases it, or null if there are too many. */
function acquireSlot(open: Map<string, number>, block: string): (() => void) | null {
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
    const answer = Promise.withResolvers<FromThread>();
    line.waiting.set(sent.id, answer);
    line.port.postMessage(sent);
    patience = setTimeout(() => giveUp(state, line, sent.id, requestId), state.answerMs ?? ANSWER_MS);
    const { status, headers, body } = await answer.promise;
    return responseOf(sent.method, status, new Headers(headers), body);
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
  const line: Line = { ...(await state.connect(close)), waiting, received: 0 };
  line.port.onmessage = ({ data }: { data: FromPort }) => receive(line, data);
  return line;
}

function receive(line: Line, message: FromPort): void {
  line.received++;
  if (message === PING) return;
  line.waiting.get(message.id)?.resolve(message);
  line.waiting.delete(message.id);
}

function responseOf(method: string, status: number, headers: Headers, body: ArrayBuffer): Response {
  const isStreamed = body.byteLength > ONE_WRITE_BYTES && method !== 'HEAD';
  return new Response(isStreamed ? inOneWrite(body) : body, { status, headers });
}

/** Up to this size, Bun sends an asynchronous response in one system call, together with its headers. */
const ONE_WRITE_BYTES = 14 * 1024;

/**
 * A body that Bun 1.4.5 sends together with the headers. With a longer buffer it would send each header's name and value
 * separately: about forty system calls and packets, which take as long as rendering a page. A direct stream that may buffer
 * the whole body has a Content-Length, too.
 */
function inOneWrite(bytes: ArrayBuffer): ReadableStream {
  return new ReadableStream({
    type: 'direct',
    pull: (controller) => {
      // The option is missing in bun-types 1.4.5.
      const buffering: { start: (options: { highWaterMark: number }) => void } = controller;
      buffering.start({ highWaterMark: bytes.byteLength + 1 });
      controller.write(bytes);
      controller.end();
    },
  });
}

/**
 * Refuses a request that has waited too long. If the thread stays silent for as long again, it is ended; the second wait spares
 * a thread whose whole process was suspended.
 */
function giveUp(state: State, line: Line, id: number, requestId: string): void {
  line.waiting.get(id)?.reject(unanswered('The server takes too long to answer.'));
  line.waiting.delete(id);
  state.log.event('error', "The portal's thread took too long; a request was refused.", { requestId });
  const { received } = line;
  line.port.postMessage(PING);
  const endIfSilent = () => {
    if (line.received === received) state.end(line.thread);
  };
  setTimeout(endIfSilent, state.answerMs ?? ANSWER_MS).unref();
}

/** It is unknown how far the thread got with the request. */
function unanswered(what: string): AppError {
  const sentence = `${what} Your request may still have been processed: check before you send it again.`;
  return new AppError('busy', sentence, { isForClient: true });
}
