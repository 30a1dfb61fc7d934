import { etagOf, etagOfPieces, hashesOf, PIECE_BYTES } from '../../shared/etag.ts';
import type { Body, Part } from '../../shared/profiles/read/body.ts';
import { isLong, type LongBody } from '../../shared/profiles/read/long-body.ts';
import type { Service } from '../process/service.ts';
import type { Answer, StreamedAnswer } from './answers.ts';
import type { Exchange } from './exchange.ts';
import type { Hold } from './unsent.ts';

// Bun keeps whatever a client doesn't read of an answer in memory for as long as the connection lasts. Of a ReadableStream
// it asks for the next piece only once the socket has taken the last one: seen with Bun 1.4.5 for a default stream with a
// highWaterMark of 0, but not for a `direct` one. So a big answer is a stream, and what it holds is counted (unsent.ts). Bun
// sends it chunked, without a Content-Length. It cancels the stream where the client has gone away, reads nothing for the
// idle timeout or asked by HEAD, and ends the connection without the last chunk where the stream fails.

/** Larger bodies are big. A single lookup, which is never refused, may hold as much by default (MAX_PROFILE_KIB). */
const MAX_SMALL_BYTES = 64 * 1024;

/** What a long body counts for while its largest piece is not known: no import ever took a larger profile. */
const ENTRY_BYTES = 1024 * 1024;

/** An answer that is at hand, or one whose body is so long that reading it has to be waited for. */
export type MaybeBig = Answer | StreamedAnswer | Promise<StreamedAnswer>;

/**
 * Makes an answer of the body that a lookup of many or the leaderboard gives: a small one as it is, a big one as a stream.
 * Throws `busy` where big answers that were not read yet leave no room for it.
 */
export function answerOf(
  service: Service,
  exchange: Exchange,
  found: Body | LongBody,
  headers: Record<string, string> = {},
): MaybeBig {
  if (isLong(found)) return answerLong(service, exchange, found, headers);
  if (found.length <= MAX_SMALL_BYTES) return { body: found, headers };
  const hold = holdFor(service, exchange, found.length);
  const etag = etagOf(found);
  return { body: streamOf(service, exchange, hold, piecesOf(found.slice()).values()), etag, headers };
}

/** A body that is too long to be held is read for its entity tag first, and then again as it is sent. */
async function answerLong(
  service: Service,
  exchange: Exchange,
  body: LongBody,
  headers: Record<string, string>,
): Promise<StreamedAnswer> {
  const hold = holdFor(service, exchange, ENTRY_BYTES + PIECE_BYTES);
  try {
    const hashes: bigint[] = [];
    let largest = 0;
    for await (const bytes of readBody(service, body)) {
      largest = Math.max(largest, bytes.length);
      for (const piece of piecesOf(bytes)) hashes.push(...hashesOf(piece));
    }
    hold.shrinkTo(largest);
    const pieces = readAgain(service, body, hashes);
    return { body: streamOf(service, exchange, hold, pieces), etag: etagOfPieces(hashes), headers };
  } catch (error) {
    hold.release();
    throw error;
  }
}

function holdFor({ unsent }: Service, { key }: Exchange, bytes: number): Hold {
  return unsent(key?.identifier ?? '', bytes);
}

type Pieces = Iterator<Uint8Array<ArrayBuffer>> | AsyncIterator<Uint8Array<ArrayBuffer>>;

/** Streams these pieces. Where one can't be had, the answer stays incomplete, which its client sees, and the log says why. */
function streamOf({ log }: Service, { requestId }: Exchange, hold: Hold, pieces: Pieces): StreamedAnswer['body'] {
  let isCancelled = false;
  return new ReadableStream(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await pieces.next();
          if (isCancelled) return;
          if (!done) return controller.enqueue(value);
          hold.release();
          controller.close();
        } catch (cause) {
          if (isCancelled) return;
          hold.release();
          log.event('warn', 'An answer was cut off: what was left of it could not be read.', { requestId, cause });
          // Bun would print an error that is given here.
          controller.error();
        }
      },
      cancel: () => {
        isCancelled = true;
        hold.release();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The pieces of these bytes, as they are hashed and handed to the socket. */
function piecesOf(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    pieces.push(bytes.subarray(start, start + PIECE_BYTES));
  }
  return pieces;
}

/** Reads a body and returns its bytes in turns: one piece at a time, or several whole ones where an entry is longer than that. */
async function* readBody({ sweep }: Service, body: LongBody): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const next = body.open();
  let parts: Part[] = [];
  let units = 0;
  let measured = 0;
  for (let goesOn = true; goesOn; ) {
    goesOn = next(parts);
    // A text has at least as many bytes as UTF-16 units.
    for (; measured < parts.length; measured++) units += (parts[measured] as Part).length;
    if (goesOn && units < PIECE_BYTES) continue;
    const bytes = joined(parts);
    const end = goesOn ? bytes.length - (bytes.length % PIECE_BYTES) : bytes.length;
    yield bytes.subarray(0, end);
    sweep(bytes.length);
    // A copy, so that the rest of these bytes can be collected.
    parts = [bytes.slice(end)];
    [units, measured] = [bytes.length - end, 1];
    await othersTurn();
  }
}

/** Reads a body again and returns its pieces one by one. Throws where one no longer has the hashes that it had before. */
async function* readAgain(
  service: Service,
  body: LongBody,
  hashes: readonly bigint[],
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let at = 0;
  for await (const bytes of readBody(service, body)) {
    for (const piece of piecesOf(bytes)) {
      const [one, other] = hashesOf(piece);
      if (one !== hashes[at++] || other !== hashes[at++])
        throw new Error('a profile has changed since the answer began');
      yield piece;
    }
  }
  if (at < hashes.length) throw new Error('the answer is shorter than when it began');
}

let lastTurn = Promise.resolve();

/** Lets everything that waits be done before reading on; of several long answers only one reads on in a turn. */
function othersTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise((resolve) => setImmediate(resolve)));
  return lastTurn;
}

function joined(parts: readonly Part[]): Uint8Array<ArrayBuffer> {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}
