import type { z } from 'zod';
import type { ErrorBody } from '../../shared/api/bodies.ts';
import { AppError, DOCUMENTED_CODES, type ErrorCode, refusalOf } from '../../shared/errors.ts';
import { serverHeaders, stamp } from './answers.ts';
import type { RequestState } from './request-state.ts';

/** Every status that a refused request can have, in ascending order. */
export const ERROR_STATUSES: readonly number[] = [
  ...new Set(DOCUMENTED_CODES.map((code) => refusalOf(code).status as number)),
].sort((a, b) => a - b);

/** A refused request: the response, the code to count, and the error to log (null unless the server is at fault). */
export type Refused = { response: Response; code: ErrorCode; fault: unknown };

/** What all responses with one code share. The body is cached for the last sentence. */
type Kind = { sentence: string; body: string; init: { status: number; headers: Headers } };

/**
 * The prepared parts of error responses. All responses with one code share one Headers object: a new one for each would make
 * a flood of refused requests more expensive.
 */
export type Refusals = {
  /** The headers of every response. */
  readonly always: Record<string, string>;
  /** For requests without a valid key: these responses have no RateLimit headers. */
  readonly ofStrangers: Map<ErrorCode, Kind>;
  readonly ofKeys: Map<ErrorCode, Kind>;
};

/** Prepares error responses; `isSecure` if the server itself speaks TLS. */
export function prepareRefusals(isSecure: boolean): Refusals {
  return { always: serverHeaders(isSecure), ofStrangers: new Map(), ofKeys: new Map() };
}

/**
 * Creates the response to an error: `{"error":"<sentence>"}`, never cached, with the code in `X-Error-Code`. Any error that is
 * not an AppError meant for clients becomes a 500 that does not reveal its cause. `state` is null if the error precedes it.
 */
export function refuse(refusals: Refusals, error: unknown, state: RequestState | null): Refused {
  const known = error instanceof AppError ? error : new AppError('internal', null, { cause: error });
  const shown = publicRefusal(known);
  const { code, body, headers } = shown;
  const kind = kindOf(refusals, shown, state);
  if (kind.sentence !== body.error) {
    kind.sentence = body.error;
    kind.body = JSON.stringify(body);
  }
  for (const name in headers) kind.init.headers.set(name, headers[name] as string);
  if (state !== null) stamp(kind.init.headers, state);
  const response = new Response(kind.body, kind.init);
  const isFault = refusalOf(code).isLogged && !known.details.isForClient;
  return { response, code, fault: isFault ? error : null };
}

function kindOf(refusals: Refusals, { code, status }: PublicRefusal, state: RequestState | null): Kind {
  const kinds = state === null || state.quota === null ? refusals.ofStrangers : refusals.ofKeys;
  let kind = kinds.get(code);
  if (kind === undefined) {
    const headers = new Headers({ ...NOT_STORED, 'X-Error-Code': code, ...refusals.always });
    kind = { sentence: '', body: '', init: { status, headers } };
    kinds.set(code, kind);
  }
  return kind;
}

const NOT_STORED = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };

/** A refusal as clients receive it. */
export type PublicRefusal = {
  code: ErrorCode;
  status: number;
  body: z.infer<typeof ErrorBody>;
  /** The headers that only some refusals have. */
  headers: Record<string, string> | undefined;
};

/** The part of an error that clients may see, also used for the OpenAPI document. */
export function publicRefusal({ code, message, details }: AppError): PublicRefusal {
  const { status, sentence = '', isSentenceFixed, headers } = refusalOf(code);
  if (status === undefined) return publicRefusal(INTERNAL);
  const error = isSentenceFixed && !details.isForClient ? sentence : message;
  return { code, status, body: { error }, headers: headers?.(details) };
}

const INTERNAL = new AppError('internal');
