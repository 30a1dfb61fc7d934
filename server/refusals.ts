import type { z } from 'zod';
import type { ErrorBody } from '../shared/api/bodies.ts';
import { AppError, type ErrorCode, type ErrorDetails } from '../shared/errors.ts';
import { serverHeaders, stamp } from './answers.ts';
import type { Exchange } from './exchange.ts';

/** How a code becomes an answer. Without a `sentence` the error's own is shown: it was written for the client. */
type Refusal = {
  status: number;
  sentence?: string;
  headers?: (details: ErrorDetails) => Record<string, string>;
};

const REALM = 'Bearer realm="profile-lookup"';

const FAULT: Refusal = { status: 500, sentence: 'The server failed to answer this request.' };

const retryAfter = ({ retryAfterSeconds = 1 }: ErrorDetails) => ({ 'Retry-After': String(retryAfterSeconds) });

/** Every code's answer. A code that no request should meet is a fault: its sentence was written for the operator. */
const REFUSALS: Record<ErrorCode, Refusal> = {
  bad_parameter: { status: 400 },
  bad_request: { status: 400 },
  no_credentials: { status: 401, headers: () => ({ 'WWW-Authenticate': REALM }) },
  invalid_token: { status: 401, headers: () => ({ 'WWW-Authenticate': `${REALM}, error="invalid_token"` }) },
  plain_http: { status: 403 },
  insufficient_scope: {
    status: 403,
    headers: ({ scope }) => ({ 'WWW-Authenticate': `${REALM}, error="insufficient_scope", scope="${scope}"` }),
  },
  not_found: { status: 404 },
  unknown_path: { status: 404 },
  method_not_allowed: { status: 405, headers: () => ({ Allow: 'GET, HEAD' }) },
  uri_too_long: { status: 414 },
  too_many_failures: { status: 429, headers: retryAfter },
  rate_limited: { status: 429, headers: retryAfter },
  busy: { status: 503, sentence: 'The database is busy; try again.', headers: retryAfter },
  not_ready: { status: 503, headers: retryAfter },
  internal: FAULT,
  usage: FAULT,
  bad_config: FAULT,
  refused: FAULT,
  try_later: FAULT,
  cancelled: FAULT,
};

/** Every status that a refusal can have, ascending; the README's table is compared with this. */
export const ERROR_STATUSES: readonly number[] = [
  ...new Set(Object.values(REFUSALS).map((refusal) => refusal.status)),
].sort((a, b) => a - b);

/** A refused request: the answer, and what has to be counted and logged: the fault behind it, where it is the server's own. */
export type Refused = { response: Response; code: ErrorCode; fault: unknown };

/**
 * The one maker of error answers: `{"error":"<sentence>"}`, never cached. Anything but an AppError, or one that was not
 * meant for a client, is a 500 that says nothing of its cause. The exchange is null where there never was one.
 */
export type Refuse = (error: unknown, exchange: Exchange | null) => Refused;

/** What the answers with one code have in common; the sentence may be another the next time. */
type Kind = { sentence: string; body: string; init: { status: number; headers: Headers } };

/**
 * Prepares refusing; `isSecure` where the server itself speaks TLS. As with other answers, each kind has one Headers
 * object: a flood of strangers costs the server little more than its clients do.
 */
export function prepareRefusals(isSecure: boolean): Refuse {
  const ofStrangers = new Map<ErrorCode, Kind>();
  const ofKeys = new Map<ErrorCode, Kind>();
  const always = serverHeaders(isSecure);
  return (error, exchange) => {
    const known = error instanceof AppError ? error : new AppError('internal', '', { cause: error });
    const { status, body, headers } = refusalOf(known);
    const kinds = exchange === null || exchange.quota === null ? ofStrangers : ofKeys;
    let kind = kinds.get(known.code);
    if (kind === undefined) {
      kind = { sentence: '', body: '', init: { status, headers: new Headers({ ...FOR_NOBODY, ...always }) } };
      kinds.set(known.code, kind);
    }
    if (kind.sentence !== body.error) {
      kind.sentence = body.error;
      kind.body = JSON.stringify(body);
    }
    for (const name in headers) kind.init.headers.set(name, headers[name] as string);
    if (exchange !== null) stamp(kind.init.headers, exchange);
    const response = new Response(kind.body, kind.init);
    return { response, code: known.code, fault: status >= 500 ? error : null };
  };
}

const FOR_NOBODY = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };

/** What a client is shown of an error, and the headers that not every refusal has; the OpenAPI document shows it too. */
export function refusalOf({ code, message, details }: AppError) {
  const { status, sentence = message, headers } = REFUSALS[code];
  const body: z.infer<typeof ErrorBody> = { error: sentence };
  return { status, body, headers: headers?.(details) };
}
