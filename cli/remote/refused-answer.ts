import { z } from 'zod';
import { AppError, type ErrorCode, exitCodeOf } from '../../shared/errors.ts';
import { REFUSALS } from '../../shared/refusals.ts';
import { cleanForTerminal } from '../../shared/text.ts';

/** Statuses with which a server, or a proxy before it, says that trying again later can help. */
const LATER = [408, 429, 502, 503, 504];

const UNAUTHORIZED = 401;

/** The status of a proxy that takes no body of this length. */
const TOO_LARGE = 413;

const LONGEST_SENTENCE = 2_000;

/** A sentence of a server, which may be a stranger's: cut, and in one line without what a terminal obeys. */
export const Said = z.string().transform((text) => cleanForTerminal(text.slice(0, LONGEST_SENTENCE)));

/** The body of a refusal; one of /token and /revoke has its sentence in `error_description`, as RFC 6749 wants it. */
const Refusal = z.object({ error: Said.optional(), error_description: Said.optional() });

const LONGEST_PAUSE_SECONDS = 3_600;

/** The code of a path that the server does not have, with its Developer Platform switched off for instance. */
const UNKNOWN_PATH: ErrorCode = 'unknown_path';

/**
 * What an answer that is no success means here: the refusal of its X-Error-Code, with the server's sentence. `body` is its
 * JSON, null where it has none.
 */
export function refusalOfAnswer(
  host: { url: string; token: string | null },
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  body: unknown,
): AppError {
  const code = headers.get('x-error-code') ?? '';
  const { data: said } = Refusal.safeParse(body);
  const sentence = said?.error_description || said?.error || null;
  const retryAfterSeconds = pauseOf(headers.get('retry-after'));
  const details = retryAfterSeconds === null ? {} : { retryAfterSeconds };
  if (status === UNAUTHORIZED && host.token !== null) {
    return new AppError('not_logged_in', `${host.url} does not accept the token; run "profilectl login ${host.url}".`);
  }
  if (LATER.includes(status)) {
    const isKnown = isErrorCode(code) && exitCodeOf(code) === exitCodeOf('try_later');
    const later = sentence ?? `${host.url} can't answer at the moment (status ${status}); try again later.`;
    return new AppError(isKnown ? code : 'try_later', later, details);
  }
  if (code === UNKNOWN_PATH) {
    const why = 'its Developer Platform is switched off, or its version is older than this one';
    return new AppError('refused', `${host.url} does not know what it was asked for: ${why}.`);
  }
  if (sentence !== null) return new AppError(isErrorCode(code) ? code : 'refused', sentence, details);
  const location = headers.get('location');
  if (location !== null) {
    return new AppError(
      'refused',
      `${host.url} leads to another address, ${whereTo(host.url, location)}; use that one.`,
    );
  }
  if (status === TOO_LARGE) {
    const where = 'a proxy before it, whose limit on bodies is too small for this';
    return new AppError('refused', `What was sent is too long for ${host.url}, or for ${where}.`);
  }
  return strangeAnswer(host.url, status);
}

/** The refusal for an answer that is none of Profile Lookup. */
export function strangeAnswer(url: string, status: number): AppError {
  const what = `answers with something that is not from Profile Lookup (status ${status})`;
  return new AppError('refused', `${url} ${what}; check the address.`);
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(REFUSALS, code);
}

/** Seconds; null where the header is missing or no number of seconds. */
function pauseOf(retryAfter: string | null): number | null {
  return retryAfter !== null && /^\d{1,9}$/.test(retryAfter)
    ? Math.min(Number(retryAfter), LONGEST_PAUSE_SECONDS)
    : null;
}

/** The origin of a redirect, cleaned; its path may hold anything. */
function whereTo(url: string, location: string): string {
  return URL.canParse(location, url) ? new URL(location, url).origin : 'which is malformed';
}
