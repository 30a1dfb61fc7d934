import type { z } from 'zod';
import type { ErrorBody } from '../../shared/api/bodies.ts';
import { AppError, DOCUMENTED_CODES, type ErrorCode, refusalOf } from '../../shared/errors.ts';
import { serverHeaders, stamp } from './answers.ts';
import type { Exchange } from './exchange.ts';

/** Every status that a refused request can have, ascending; a test compares the table in README.md with this. */
export const ERROR_STATUSES: readonly number[] = [
  ...new Set(DOCUMENTED_CODES.map((code) => refusalOf(code).status as number)),
].sort((a, b) => a - b);

/** A refused request: the answer, what to count it as, and the fault to log, or null where the server is not at fault. */
export type Refused = { response: Response; code: ErrorCode; fault: unknown };

/**
 * Makes every error answer: `{"error":"<sentence>"}`, never cached, its code in `X-Error-Code`. Anything but an AppError,
 * and an AppError that was not meant for a client, is a 500 that says nothing of its cause. The exchange is null where
 * there never was one.
 */
export type Refuse = (error: unknown, exchange: Exchange | null) => Refused;

/** What the answers with one code have in common; the sentence may be another the next time. */
type Kind = { sentence: string; body: string; init: { status: number; headers: Headers } };

/**
 * Prepares refusing; `isSecure` where the server itself speaks TLS. All answers with one code share one Headers object,
 * as other answers do: making a new one for each refusal would make a flood of refused requests more expensive.
 */
export function prepareRefusals(isSecure: boolean): Refuse {
  const ofStrangers = new Map<ErrorCode, Kind>();
  const ofKeys = new Map<ErrorCode, Kind>();
  const always = serverHeaders(isSecure);
  return (error, exchange) => {
    const known = error instanceof AppError ? error : new AppError('internal', null, { cause: error });
    const { code, status, body, headers } = shownOf(known);
    const kinds = exchange === null || exchange.quota === null ? ofStrangers : ofKeys;
    let kind = kinds.get(code);
    if (kind === undefined) {
      const shared = new Headers({ ...FOR_NOBODY, 'X-Error-Code': code, ...always });
      kind = { sentence: '', body: '', init: { status, headers: shared } };
      kinds.set(code, kind);
    }
    if (kind.sentence !== body.error) {
      kind.sentence = body.error;
      kind.body = JSON.stringify(body);
    }
    for (const name in headers) kind.init.headers.set(name, headers[name] as string);
    if (exchange !== null) stamp(kind.init.headers, exchange);
    const response = new Response(kind.body, kind.init);
    const isFault = refusalOf(code).isLogged && !known.details.isForClient;
    return { response, code, fault: isFault ? error : null };
  };
}

const FOR_NOBODY = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };

/** What a client is shown of a refusal. */
export type ShownRefusal = {
  code: ErrorCode;
  status: number;
  body: z.infer<typeof ErrorBody>;
  /** The headers that only this refusal has. */
  headers: Record<string, string> | undefined;
};

/** What a client is shown of an error; the OpenAPI document is made of the same. */
export function shownOf({ code, message, details }: AppError): ShownRefusal {
  const { status, sentence = '', isSentenceFixed, headers } = refusalOf(code);
  if (status === undefined) return shownOf(INTERNAL);
  const error = isSentenceFixed && !details.isForClient ? sentence : message;
  return { code, status, body: { error }, headers: headers?.(details) };
}

const INTERNAL = new AppError('internal');
