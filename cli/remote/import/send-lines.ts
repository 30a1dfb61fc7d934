import { z } from 'zod';
import { LinesDone } from '../../../shared/api/manage-bodies.ts';
import { isoTime } from '../../../shared/clock.ts';
import { AppError, exitCodeOf } from '../../../shared/errors.ts';
import type { Applied } from '../../../shared/profiles/edit/pass.ts';
import { type AskedHost, askHost } from '../client.ts';
import { ServerSentence } from '../refused-answer.ts';
import type { CheckedLine } from './check-line.ts';

/** A line that the server refused: its index in the request, the field if known, and the reason. */
export type LineRefused = { at: number; field: string | null; reason: string };

/** The result of one request. */
export type SentEnd = Applied & { refused: LineRefused[] };

/** How to send. */
export type SendOptions = {
  merge: boolean;
  /** When the lines were read, if known. */
  asOfMs?: number | undefined;
  /** Whether the server imports the valid lines if it refuses others; otherwise all or none. */
  partial: boolean;
  /** Called with the reason for each retry. */
  onWarning: (sentence: string) => void;
  tries?: Tries;
};

/** How many times a request is tried, with pauses that double from the first to the maximum. */
export type Tries = { max: number; firstPauseMs: number; maxPauseMs: number };

/** About two minutes in total. */
const TRIES: Tries = { max: 11, firstPauseMs: 250, maxPauseMs: 30_000 };

/** If a server asks for a longer pause, the import fails instead. */
const MAX_WAIT_SECONDS = 300;

/** A request may take `min`, plus `eachByte` for every byte, for slow connections. */
const PATIENCE_MS = { min: 60_000, eachByte: 1 / 16 };

/**
 * Sends lines in one request. If the server can't be reached, closes the connection or is busy, sends them again, which is
 * harmless if they were already imported. Throws the last error if that does not help, and other errors of `askHost` at once.
 */
export async function sendLines(
  host: AskedHost,
  lines: readonly CheckedLine[],
  { merge, asOfMs, partial, onWarning, tries: { max, ...pauses } = TRIES }: SendOptions,
): Promise<SentEnd> {
  const body = Buffer.from(lines.map(({ body: text }) => `${text}\n`).join(''));
  for (let tries = 1; ; tries++) {
    try {
      const { body: done } = await askHost(host, {
        method: 'POST',
        path: '/profiles',
        query: {
          mode: merge ? 'merge' : 'replace',
          partial: partial ? '1' : undefined,
          'as-of': asOfMs === undefined ? undefined : isoTime(asOfMs),
        },
        lines: body,
        answer: answerTo(lines.length),
        returned: ['lines_refused'],
        patienceMs: PATIENCE_MS.min + body.length * PATIENCE_MS.eachByte,
      });
      return readEnd(done);
    } catch (error) {
      const pauseMs = tries < max ? pauseAfter(error, tries, pauses) : null;
      if (pauseMs === null) throw error;
      onWarning(`${(error as AppError).message} Sending the same lines again in ${pauseMs / 1000} s.`);
      await Bun.sleep(pauseMs);
    }
  }
}

/** The pause before the next try, in milliseconds; null if trying again does not help. */
function pauseAfter(error: unknown, tries: number, { firstPauseMs, maxPauseMs }: Omit<Tries, 'max'>): number | null {
  if (!(error instanceof AppError) || exitCodeOf(error.code) !== exitCodeOf('try_later')) return null;
  const { retryAfterSeconds = 0 } = error.details;
  if (retryAfterSeconds > MAX_WAIT_SECONDS) return null;
  const pauseMs = Math.min(firstPauseMs * 2 ** (tries - 1), maxPauseMs);
  return Math.max(pauseMs, retryAfterSeconds * 1000);
}

/** The schema of the response to this many lines: their outcome, or the reason why the whole request was refused. */
function answerTo(lines: number) {
  const count = LinesDone.shape.imported.default(0);
  const refused = z.object({
    line: z.int().min(1).max(lines),
    field: ServerSentence.nullish(),
    reason: ServerSentence,
  });
  const counts = { imported: count, deleted: count, notThere: count, unaddressed: count, newer: count };
  const newerIds = LinesDone.shape.newerIds.default([]);
  return z.union([
    z.object({ ...counts, newerIds, refused: z.array(refused) }),
    z.object({ refused: z.undefined().optional(), error: ServerSentence }),
  ]);
}

/** Throws `refused` if the whole request was refused. */
function readEnd(body: z.infer<ReturnType<typeof answerTo>>): SentEnd {
  if (body.refused === undefined) throw new AppError('refused', body.error);
  const refused = body.refused.map(({ line, field = null, reason }) => ({ at: line - 1, field, reason }));
  return { ...body, refused };
}
