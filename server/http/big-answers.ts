import { etagOf, etagOfPieces, hashesOf, PIECE_BYTES } from '../../shared/etag.ts';
import type { Body, Part } from '../../shared/profiles/read/body.ts';
import { isLong, type LongBody } from '../../shared/profiles/read/long-body.ts';
import { collectAfterLargeText } from '../process/collector.ts';
import type { Service } from '../process/service.ts';
import type { Answer, LateAnswer, StreamedAnswer } from './answers.ts';
import type { Exchange } from './exchange.ts';
import { type Hold, holdBytes, releaseHold, shrinkHold } from './unsent.ts';

// Bun keeps the part of an answer that the client has not read in memory for as long as the connection lasts. So that slow
// clients can't fill the memory, a big answer is a ReadableStream, and the bytes that it holds are counted (unsent.ts). Bun
// asks such a stream for its next piece only when the socket has taken the last one: seen with Bun 1.4.5 for a default
// stream with a highWaterMark of 0, but not for a `direct` one. Bun sends a stream chunked, without a Content-Length. It
// cancels the stream where the client has gone away, has read nothing for the idle timeout, or has asked by HEAD. Where the
// stream fails, Bun ends the connection without the last chunk, so that the client sees that the answer is incomplete.

/** Larger bodies are big. The answer to a single lookup has at most as many bytes by default (MAX_PROFILE_KIB). */
const MAX_SMALL_BYTES = 64 * 1024;

/** How many bytes a long body counts for while its largest piece is not known: no import accepts a larger profile. */
const ENTRY_BYTES = 1024 * 1024;

/** An answer, or the promise of one for which other requests are answered while its body is read. */
export type MaybeBig = Answer | StreamedAnswer | Promise<LateAnswer | StreamedAnswer>;

/** What a lookup of many profiles or the leaderboard found, and the headers that only this answer has. */
export type FoundBody = { body: Body | LongBody; headers: Record<string, string> };

/**
 * Makes an answer of the body that `find` finds: of a small body as it is, of a big one as a stream. Where another request
 * found a long body in this turn of the event loop, `find` is called in a later turn: the first profile of a long body
 * takes milliseconds to read, and many such requests may arrive in one turn. Throws what `find` throws, and `busy` where
 * big answers that clients have not read yet leave no room for it.
 */
export function answerOf(service: Service, exchange: Exchange, find: () => FoundBody): MaybeBig {
  return turns.isTaken ? answerInTurn(service, exchange, find) : answerNow(service, exchange, find());
}

async function answerInTurn(
  service: Service,
  exchange: Exchange,
  find: () => FoundBody,
): Promise<LateAnswer | StreamedAnswer> {
  await othersTurn();
  const { body, headers } = find();
  if (isLong(body)) return answerLong(service, exchange, body, headers);
  if (body.length > MAX_SMALL_BYTES) return answerBig(service, exchange, body, headers);
  return { body: Buffer.from(body).toString(), headers };
}

function answerNow(service: Service, exchange: Exchange, { body, headers }: FoundBody): MaybeBig {
  if (isLong(body)) {
    takeTurn();
    return answerLong(service, exchange, body, headers);
  }
  return body.length <= MAX_SMALL_BYTES ? { body, headers } : answerBig(service, exchange, body, headers);
}

/** Streams a body that is in memory, of which the answer takes a copy. */
function answerBig(service: Service, exchange: Exchange, body: Body, headers: Record<string, string>): StreamedAnswer {
  const hold = holdFor(service, exchange, body.length);
  const etag = etagOf(body);
  return { body: streamOf(service, exchange, hold, piecesOf(body.slice()).values()), etag, headers };
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
    shrinkHold(hold, largest);
    const pieces = readAgain(service, body, hashes);
    return { body: streamOf(service, exchange, hold, pieces), etag: etagOfPieces(hashes), headers };
  } catch (error) {
    releaseHold(hold);
    throw error;
  }
}

function holdFor({ unsent }: Service, { key }: Exchange, bytes: number): Hold {
  return holdBytes(unsent, key?.identifier ?? '', bytes);
}

type Pieces = Iterator<Uint8Array<ArrayBuffer>> | AsyncIterator<Uint8Array<ArrayBuffer>>;

/** Streams these pieces. Where one can't be read, the answer stays incomplete, and the log says why. */
function streamOf({ log }: Service, { requestId }: Exchange, hold: Hold, pieces: Pieces): StreamedAnswer['body'] {
  let isCancelled = false;
  return new ReadableStream(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await pieces.next();
          if (isCancelled) return;
          if (!done) return controller.enqueue(value);
          releaseHold(hold);
          controller.close();
        } catch (cause) {
          if (isCancelled) return;
          releaseHold(hold);
          log.event('warn', 'An answer was cut off: what was left of it could not be read.', { requestId, cause });
          // Called without an error, since Bun would print it.
          controller.error();
        }
      },
      cancel: () => {
        isCancelled = true;
        releaseHold(hold);
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
async function* readBody({ collector }: Service, body: LongBody): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const next = body.open();
  let parts: Part[] = [];
  let units = 0;
  let measured = 0;
  await othersTurn();
  for (let goesOn = true; goesOn; ) {
    goesOn = next(parts);
    // A text has at least as many bytes as UTF-16 units.
    for (; measured < parts.length; measured++) units += (parts[measured] as Part).length;
    if (goesOn && units < PIECE_BYTES) continue;
    const bytes = joined(parts);
    const end = goesOn ? bytes.length - (bytes.length % PIECE_BYTES) : bytes.length;
    yield bytes.subarray(0, end);
    collectAfterLargeText(collector, bytes.length);
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

/** Who reads a long body in which turn of this thread's event loop. */
const turns = {
  /** Resolves in the last turn that was given away. */
  last: Promise.resolve(),
  /** Whether a request that arrived in this turn has found a long body. */
  isTaken: false,
};

/** Lets all waiting work be done before a long answer reads on. In each turn of the event loop only one long answer reads. */
function othersTurn(): Promise<void> {
  turns.last = turns.last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return turns.last;
}

function takeTurn(): void {
  turns.isTaken = true;
  setImmediate(() => {
    turns.isTaken = false;
  });
}

function joined(parts: readonly Part[]): Uint8Array<ArrayBuffer> {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}
