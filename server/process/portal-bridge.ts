import { AppError } from '../../shared/errors.ts';
import { blockOf } from '../http/transport.ts';
import type { Log } from '../observability/log.ts';
import { ARRIVED_HEADERS } from '../thread/forwarded.ts';
import { type FromPort, PING, type ToPort } from './portal-port.ts';
import { type Reading, readBody } from './request-body.ts';

// Carries requests from a serving thread to the portal's thread, and its answers back, whatever they are about. The other
// end is `portal-port.ts`, in the thread that `portal-thread.ts` starts.

/** What the serving thread knows about a request: the client's address, behind trusted proxies, and its id in the log. */
export type Arrived = { address: string; requestId: string };

/**
 * How many requests of this thread may wait for their answer, and how many of one address block may be in progress. Each may
 * hold a body of 64 KiB.
 */
const MAX_OPEN = { all: 256, block: 32 } as const;

/**
 * A request that waits longer for its answer is refused, before the listener closes its idle connection. A thread that
 * doesn't answer a ping for as long again hangs, and is replaced. It waits 2 seconds at most for locks, however many it needs.
 */
const ANSWER_MS = 8_000;

/** A port to the portal's thread, and the number of that thread. */
export type Connection = { port: MessagePort; thread: number };

/** What a bridge works with. */
export type BridgeParts = {
  log: Log;
  /**
   * Opens a port, and starts the thread if none runs: `connect` of portal-handle.ts, or in a worker a message to the main
   * thread, which has it. `onEnd` is called when the thread has ended, for whatever reason. Throws `too_many_pages` if one has
   * just died.
   */
  connect: (onEnd: () => void) => Connection | Promise<Connection>;
  /** Ends the thread of this number, which hangs. */
  end: (thread: number) => void;
  /** Makes the answer to a request that the thread did not answer because of this error. */
  refuse: (request: Request, error: unknown) => Promise<Response>;
  /** How long a request waits for its answer, by default 8 seconds; tests make it shorter. */
  answerMs?: number | undefined;
};

/** A connection with the requests that wait on it. */
type Line = Connection & {
  /** The requests without an answer yet, by their number. */
  readonly waiting: Map<number, PromiseWithResolvers<Response>>;
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

/** The portal, as a thread that serves requests sees it. */
export type Bridge = {
  /**
   * Has the portal answer a request. Never throws: a request is refused if the thread dies over it or takes longer than 8
   * seconds, or if too many are waiting already.
   */
  fetch: (request: Request, arrived: Arrived) => Promise<Response>;
};

/** Makes this thread's bridge. The first request connects it, as does the first one after the portal's thread has died. */
export function createBridge(parts: BridgeParts): Bridge {
  const state: State = { ...parts, open: new Map(), reading: new Set(), line: null, requests: 0, waiting: 0 };
  return { fetch: (request, arrived) => forward(state, request, arrived) };
}

async function forward(state: State, request: Request, { address, requestId }: Arrived): Promise<Response> {
  const { method, url } = request;
  const releaseSlot = acquireSlot(state.open, blockOf(address));
  // In a flood of requests, each is refused before anything is made of it: lookups wait meanwhile.
  if (releaseSlot === null && request.body === null) return refuse(state, request, new AppError('too_many_pages'));
  const headers = new Headers(request.headers);
  headers.set(ARRIVED_HEADERS.address, address);
  headers.set(ARRIVED_HEADERS.requestId, requestId);
  // The portal ignores the Host. Clients never send a fragment, so a `#` belongs to the path or the query.
  const target = url.slice(url.indexOf('/', url.indexOf('//') + 2)).replaceAll('#', '%23');
  const sent: ToPort = {
    id: ++state.requests,
    method,
    url: `http://portal${target}`,
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
  return responseOf(refused.status, refused.headers, await refused.arrayBuffer());
}

/** Counts a request of an address block; returns a function that uncounts it, or null if there are too many. */
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
  const line: Line = { ...(await state.connect(close)), waiting, received: 0 };
  line.port.onmessage = ({ data }: { data: FromPort }) => receive(line, data);
  return line;
}

function receive(line: Line, message: FromPort): void {
  line.received++;
  if (message === PING) return;
  const { id, status, headers, body } = message;
  line.waiting.get(id)?.resolve(responseOf(status, new Headers(headers), body));
  line.waiting.delete(id);
}

function responseOf(status: number, headers: Headers, body: ArrayBuffer): Response {
  const isPage = headers.get('Content-Type')?.startsWith('text/html') ?? false;
  return new Response(isPage ? inOneWrite(body) : body, { status, headers });
}

/** Up to this size, Bun sends an asynchronous answer in one system call, together with its headers. */
const ONE_WRITE_BYTES = 14 * 1024;

/**
 * A body that Bun 1.4.5 sends together with the headers. For a longer buffer it would send each header's name and value
 * separately: some forty system calls and packets, which take as long as making a page. A direct stream has no
 * Content-Length, which the OpenAPI document of /manage promises, so only pages are sent this way.
 */
function inOneWrite(bytes: ArrayBuffer): ArrayBuffer | ReadableStream {
  if (bytes.byteLength <= ONE_WRITE_BYTES) return bytes;
  return new ReadableStream({
    type: 'direct',
    pull: (controller) => {
      controller.write(bytes);
      controller.end();
    },
  });
}

/**
 * Refuses a request that has waited too long. If the thread stays silent for as long again, it is ended; the second check
 * spares a thread whose whole process was suspended for a while.
 */
function giveUp(state: State, line: Line, id: number, requestId: string): void {
  line.waiting.get(id)?.reject(unanswered('The server takes too long to answer.'));
  line.waiting.delete(id);
  state.log.event('error', "The portal's thread took too long; a request was refused.", { requestId });
  const { received } = line;
  line.port.postMessage(PING);
  const look = () => {
    if (line.received === received) state.end(line.thread);
  };
  setTimeout(look, state.answerMs ?? ANSWER_MS).unref();
}

/** The refusal of an unanswered request. How far the thread got with it is unknown. */
function unanswered(what: string): AppError {
  const sentence = `${what} What you sent may have been done all the same: look before you send it again.`;
  return new AppError('busy', sentence, { isForClient: true });
}
