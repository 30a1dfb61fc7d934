import type { z } from 'zod';
import type { ErrorBody } from '../../shared/api/bodies.ts';
import { AppError, DOCUMENTED_CODES, type ErrorCode, refusalOf } from '../../shared/errors.ts';
import { serverHeaders, stamp } from './answers.ts';
import type { RequestState } from './request-state.ts';

/** Every status that a refused request can have, in ascending order. A test compares the README's table with this list. */
export const ERROR_STATUSES: readonly number[] = [
  ...new Set(DOCUMENTED_CODES.map((code) => refusalOf(code).status as number)),
].sort((a, b) => a - b);

/** A refused request: the answer, the code to count, and the error to log, which is null where the server is not at fault. */
export type Refused = { response: Response; code: ErrorCode; fault: unknown };

/** What all answers with one code share. The body is that of the last sentence that was sent. */
type Kind = { sentence: string; body: string; init: { status: number; headers: Headers } };

/**
 * What error answers are made of. All answers with one code share one Headers object, as other answers do: making a new one
 * for each refusal would make a flood of refused requests more expensive.
 */
export type Refusals = {
  /** The headers that every answer has. */
  readonly always: Record<string, string>;
  /** The answers to requests without a valid key, which have no RateLimit headers. */
  readonly ofStrangers: Map<ErrorCode, Kind>;
  readonly ofKeys: Map<ErrorCode, Kind>;
};

/** Prepares error answers; `isSecure` where the server itself speaks TLS. */
export function prepareRefusals(isSecure: boolean): Refusals {
  return { always: serverHeaders(isSecure), ofStrangers: new Map(), ofKeys: new Map() };
}

/**
 * Makes the answer to an error: `{"error":"<sentence>"}`, never cached, with the code in `X-Error-Code`. An error that is
 * no AppError, or an AppError that is not meant for clients, becomes a 500 that says nothing of its cause. The state is
 * null where the error came before there was one.
 */
export function refuse(refusals: Refusals, error: unknown, state: RequestState | null): Refused {
  const known = error instanceof AppError ? error : new AppError('internal', null, { cause: error });
  const shown = versionOf(known);
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

function kindOf(refusals: Refusals, { code, status }: ShownRefusal, state: RequestState | null): Kind {
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

/** What a client is shown of a refusal. */
export type ShownRefusal = {
  code: ErrorCode;
  status: number;
  body: z.infer<typeof ErrorBody>;
  /** The headers that not every refusal has. */
  headers: Record<string, string> | undefined;
};

/** What a client is shown of an error. The OpenAPI document shows refusals with the same function. */
export function versionOf({ code, message, details }: AppError): ShownRefusal {
  const { status, sentence = '', isSentenceFixed, headers } = refusalOf(code);
  if (status === undefined) return versionOf(INTERNAL);
  const error = isSentenceFixed && !details.isForClient ? sentence : message;
  return { code, status, body: { error }, headers: headers?.(details) };
}

const INTERNAL = new AppError('internal');
