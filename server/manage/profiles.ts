import { setImmediate } from 'node:timers/promises';
import { within } from '../../shared/clock.ts';
import { withTables } from '../../shared/db/connect.ts';
import { openBeside } from '../../shared/db/migrate.ts';
import type { BackendRight } from '../../shared/db/schema.ts';
import { whenUnlocked } from '../../shared/db/write.ts';
import { AppError, isForOperator } from '../../shared/errors.ts';
import { SERVING_TIMEOUT_MS } from '../../shared/files/open.ts';
import { policyOf } from '../../shared/profiles/import/feed-policy.ts';
import { importProfiles, readAsOf } from '../../shared/profiles/import/import.ts';
import type { ImportResult } from '../../shared/profiles/import/report.ts';
import type { BackendToken } from '../../shared/tokens.ts';
import { queryOf, queryParameters } from '../http/parameters.ts';
import type { Service } from '../service.ts';

/** A request with a valid token. */
export type Call = { request: Request; token: BackendToken; service: Service };

/** Throws `insufficient_scope` if the token lacks a right. */
export function requireRight({ token }: Call, right: BackendRight): void {
  if (token.rights.includes(right)) return;
  throw new AppError('insufficient_scope', `This token lacks the right ${right}.`, { scope: right });
}

/** What one request may have. */
const LIMITS = { lines: 10_000, bytes: 16 * 1024 * 1024 } as const;

/** How long a body may take to arrive, and its lines to be imported without a byte being sent. */
const ARRIVAL_SECONDS = 60;

/** So many bytes are split into lines at once, in less than a millisecond. */
const PIECE_BYTES = 16_384;

/**
 * How long a batch holds the lock and this thread, and how long both are free between two batches. A lookup in between waits for
 * one batch; longer ones would not import faster.
 */
const PACE = { lockMs: 1, gapMs: 3 };

/** The Retry-After while another request is imported, in seconds; most requests are short. */
const RETRY_SECONDS = 2;

const LINES_TYPE = /^application\/jsonl\s*(;\s*charset="?utf-8"?\s*)?$/i;

/**
 * Prepares `POST /manage/v1/profiles?mode=replace|merge&as-of=`: imports the lines of the body, each applied or refused by itself.
 * Answers one request at a time.
 */
export function prepareSending() {
  let isBusy = false;
  return async (call: Call): Promise<ImportResult> => {
    requireRight(call, 'profiles');
    const { request, token, service } = call;
    const { clock, config } = service.deps;
    const query = queryParameters(queryOf(request), ['mode', 'as-of']);
    const mode = query.get('mode') ?? 'replace';
    if (mode !== 'replace' && mode !== 'merge') throw new AppError('bad_parameter', 'mode must be replace or merge.');
    const asOf = query.get('as-of');
    const read = asOf === undefined ? null : readAsOf(asOf, clock.nowMs());
    if (read !== null && 'fault' in read) throw new AppError('bad_parameter', `as-of ${read.fault}.`);
    const { headers } = request;
    if (!LINES_TYPE.test(headers.get('content-type') ?? '') || headers.has('content-encoding')) {
      throw new AppError('not_lines');
    }
    if (isBusy) throw new AppError('feed_running', null, { retryAfterSeconds: RETRY_SECONDS });
    isBusy = true;
    try {
      service.connections?.timeout(request, ARRIVAL_SECONDS);
      const body = await readBody(request);
      // Its transactions stay open while other requests are served, so they need a connection of their own.
      using sqlite = openBeside(config.databasePath, SERVING_TIMEOUT_MS);
      const db = withTables(sqlite);
      try {
        const { details: _, ...result } = await importProfiles({ db, clock }, body, {
          merge: mode === 'merge',
          strict: false,
          ...(read !== null && { asOfMs: read.atMs }),
          by: { kind: 'backend', name: token.name },
          config,
          policy: policyOf(token),
          pace: { ...PACE, write: (act) => whenUnlocked(sqlite, act) },
        });
        return result;
      } catch (error) {
        throw forBackend(error);
      }
    } finally {
      isBusy = false;
    }
  };
}

/**
 * An import's refusal as its sender may see it: the lines are refused, or the database was locked or the token removed after some
 * were applied.
 */
function forBackend(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, message, details } = error;
  const why = details.cause instanceof AppError ? details.cause.code : null;
  if (code === 'done_in_part' && (why === 'busy' || why === 'invalid_token')) {
    return new AppError(why, message, { isForClient: true });
  }
  return code === 'refused' && !isForOperator(error) ? new AppError('not_possible', message) : error;
}

/**
 * Reads the whole body, so that a request that is cut off changes nothing. Returns it in pieces of {@link PIECE_BYTES}, however small
 * its chunks were; to join them would stop this thread for 20 ms.
 */
async function readBody({ headers, body }: Request): Promise<Uint8Array[]> {
  if (Number(headers.get('content-length') ?? 0) > LIMITS.bytes) throw tooLong();
  const reader = (body ?? new Blob([]).stream()).getReader();
  const read = async () => {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    let ended = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return pieces.map((piece, at) => piece.subarray(0, bytes - at * PIECE_BYTES));
      for (let at = value.indexOf(LF); at !== -1; at = value.indexOf(LF, at + 1)) ended++;
      const lines = value.at(-1) === LF ? ended : ended + 1;
      if (bytes + value.length > LIMITS.bytes || lines > LIMITS.lines) throw tooLong();
      for (let at = 0; at < value.length; ) {
        const filled = bytes % PIECE_BYTES;
        if (filled === 0) {
          // Chunks that have arrived are read without a pause, which other requests would have to wait for.
          await setImmediate();
          pieces.push(new Uint8Array(PIECE_BYTES));
        }
        const part = value.subarray(at, at + PIECE_BYTES - filled);
        pieces.at(-1)?.set(part, filled);
        at += part.length;
        bytes += part.length;
      }
    }
  };
  const whole = await within(read(), ARRIVAL_SECONDS * 1_000).catch((error) => {
    void reader.cancel().catch(() => undefined);
    throw error instanceof AppError ? error : cutOff();
  });
  if (whole !== 'too late') return whole;
  void reader.cancel().catch(() => undefined);
  throw cutOff();
}

const LF = 0x0a;

function cutOff(): AppError {
  return new AppError(
    'lines_cut_off',
    `The lines did not arrive within ${ARRIVAL_SECONDS} seconds; nothing was changed.`,
  );
}

function tooLong(): AppError {
  return new AppError(
    'too_many_lines',
    `A request may have ${LIMITS.lines} lines and 16 MiB; nothing was changed. Send the lines in several requests.`,
  );
}
