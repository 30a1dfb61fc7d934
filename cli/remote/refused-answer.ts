import { z } from 'zod';
import { AppError, type ErrorCode, exitCodeOf } from '../../shared/errors.ts';
import { REFUSALS } from '../../shared/refusals.ts';
import { cleanForTerminal } from '../../shared/text.ts';

/** The statuses, from a server or a proxy in front of it, after which trying again later can help. */
const LATER = [408, 429, 502, 503, 504];

const UNAUTHORIZED = 401;

const TOO_LARGE = 413;

const MAX_SENTENCE_LENGTH = 2_000;

/** A sentence from a server, which is not trusted: truncated, on one line, without control characters. */
export const ServerSentence = z.string().transform((text) => cleanForTerminal(text.slice(0, MAX_SENTENCE_LENGTH)));

/** The body of a refusal. Those of /token and /revoke have the sentence in `error_description` (RFC 6749). */
const Refusal = z.object({ error: ServerSentence.optional(), error_description: ServerSentence.optional() });

const MAX_PAUSE_SECONDS = 3_600;

/** The code of a path that the server does not have, for example because its Developer Platform is switched off. */
const UNKNOWN_PATH: ErrorCode = 'unknown_path';

/**
 * The error for an unsuccessful response: the refusal named by its X-Error-Code, with the server's sentence. `body` is its
 * JSON, undefined if it is not JSON.
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
    return new AppError('refused', `${host.url} does not support this request: ${why}.`);
  }
  if (sentence !== null) return new AppError(isErrorCode(code) ? code : 'refused', sentence, details);
  const location = headers.get('location');
  if (location !== null) {
    return new AppError(
      'refused',
      `${host.url} redirects to another URL, ${whereTo(host.url, location)}; use that one.`,
    );
  }
  if (status === TOO_LARGE) {
    const proxy = 'a proxy in front of it, whose limit on request bodies is too small';
    return new AppError('refused', `The request is too large for ${host.url}, or for ${proxy}.`);
  }
  return strangeAnswer(host.url, status);
}

/** The error for a response that is not from Profile Lookup. */
export function strangeAnswer(url: string, status: number): AppError {
  return new AppError(
    'refused',
    `The response from ${url} (status ${status}) is not from Profile Lookup; check the URL.`,
  );
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(REFUSALS, code);
}

/** Retry-After in seconds, limited; null if the header is missing or not a number. */
function pauseOf(retryAfter: string | null): number | null {
  return retryAfter !== null && /^\d{1,9}$/.test(retryAfter) ? Math.min(Number(retryAfter), MAX_PAUSE_SECONDS) : null;
}

/** The origin of a redirect; its path may contain anything. */
function whereTo(url: string, location: string): string {
  return URL.canParse(location, url) ? new URL(location, url).origin : 'which is malformed';
}
