import { AppError } from '../../shared/errors.ts';
import type { Body } from '../../shared/profiles/lookup/body.ts';

/** How many unread bytes of big responses may be held: for one key, and for all keys together. */
export const SEND_BUFFER_BYTES = { key: 8 * 1024 * 1024, all: 64 * 1024 * 1024 } as const;

/** The listener's idle timeout (process/listener.ts), after which a connection is closed and its bytes are released. */
const RETRY_AFTER_SECONDS = 10;

// Bun keeps the unread part of a response in memory for as long as the connection lasts. So that slow clients can't fill the
// memory, a big body is sent as a ReadableStream of its bytes, which are counted until Bun has pulled the last of them. Bun
// 1.4.5 pulls the next piece of a default stream with a highWaterMark of 0 (but not of a `direct` stream) only when the socket
// has accepted the previous one. It sends a stream chunked, without a Content-Length, and cancels it if the client
// disconnects, reads nothing for the idle timeout, or has sent HEAD.

/** Larger bodies are counted. Most lookups of a hundred profiles are smaller: streaming takes an eighth more processor time. */
const MAX_SMALL_BYTES = 128 * 1024;

const PIECE_BYTES = 64 * 1024;

// The counts are a table in shared memory with a row per worker, so that the bytes of a dead worker can be subtracted. The
// first column is the sum of the row; each other column is for the keys whose identifiers hash to it. Two keys share a column,
// and therefore a limit, with a probability of 1 in 4 095.

const COLUMNS = 4_096;

/** A worker's view of the counts; `row` is the index at which its row begins. */
export type SendBuffers = {
  readonly counts: Int32Array;
  readonly row: number;
};

/** The bytes that are counted for one response. */
export type Hold = {
  readonly sendBuffers: SendBuffers;
  readonly column: number;
  bytes: number;
};

/** The body itself if it is small, otherwise a stream of a copy. Throws `busy` if unread responses leave no room for it. */
export function bufferedBody(buffers: SendBuffers, identifier: string, body: Body): Body | ReadableStream {
  if (body.length <= MAX_SMALL_BYTES) return body;
  const hold = holdBytes(buffers, identifier, body.length);
  return streamOf(new Uint8Array(body), hold);
}

function streamOf(bytes: Body, hold: Hold): ReadableStream {
  let sent = 0;
  return new ReadableStream(
    {
      pull: (controller) => {
        if (sent < bytes.length) {
          controller.enqueue(bytes.subarray(sent, sent + PIECE_BYTES));
          sent += PIECE_BYTES;
          return;
        }
        releaseHold(hold);
        controller.close();
      },
      cancel: () => releaseHold(hold),
    },
    { highWaterMark: 0 },
  );
}

/** Allocates the counts of this many workers. */
export function createSendBufferMemory(workers: number): SharedArrayBuffer {
  return new SharedArrayBuffer(workers * COLUMNS * 4);
}

/** The view of the worker with this row, counted from 0. */
export function joinSendBuffers(memory: SharedArrayBuffer, row: number): SendBuffers {
  return { counts: new Int32Array(memory), row: row * COLUMNS };
}

/** Counts bytes for a key until they are released. Throws `busy`, and counts nothing, if a limit would be exceeded. */
export function holdBytes(sendBuffers: SendBuffers, identifier: string, bytes: number): Hold {
  const column = 1 + (Bun.hash.xxHash32(identifier) % (COLUMNS - 1));
  const hold = { sendBuffers, column, bytes };
  // Added before the sums are compared, so that two workers can't both use the last room.
  add(hold, bytes);
  if (
    sumOf(sendBuffers.counts, column) <= SEND_BUFFER_BYTES.key &&
    sumOf(sendBuffers.counts, 0) <= SEND_BUFFER_BYTES.all
  )
    return hold;
  releaseHold(hold);
  throw new AppError('busy', 'Unread responses to earlier requests leave no room for this one; read them first.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    isForClient: true,
  });
}

/** Stops counting the bytes; may be called more than once. */
export function releaseHold(hold: Hold): void {
  add(hold, -hold.bytes);
  hold.bytes = 0;
}

/** Subtracts the bytes that a worker held when it died; `row` is counted from 0. */
export function freeSendBuffersOf(memory: SharedArrayBuffer, row: number): void {
  new Int32Array(memory, row * COLUMNS * 4, COLUMNS).fill(0);
}

function add({ sendBuffers: { counts, row }, column }: Hold, bytes: number): void {
  Atomics.add(counts, row + column, bytes);
  Atomics.add(counts, row, bytes);
}

function sumOf(counts: Int32Array, column: number): number {
  let sum = 0;
  for (let at = column; at < counts.length; at += COLUMNS) sum += Atomics.load(counts, at);
  return sum;
}
