import { AppError } from '../../shared/errors.ts';

// Reads the requests that process/portal-bridge.ts forwards to the applications in the portal's thread.

/** The headers with the client's address, behind trusted proxies, and the request's id; set by the bridge. */
export const ARRIVED_HEADERS = { address: 'x-client-address', requestId: 'x-request-id' } as const;

/** The header of an answer with the path of its route, for log and metrics; removed before the client gets it. */
export const ROUTE_HEADER = 'x-route';

/** The longest body; a longer one arrives cut after one more byte, or empty if its Content-Length was too long. */
export const MAX_FORM_BYTES = 65_536;

/** The path and the query of a URL, still percent-encoded, without the `?`. */
export function targetOf(url: string): { path: string; query: string } {
  const target = url.slice(url.indexOf('/', url.indexOf('//') + 2));
  const mark = target.indexOf('?');
  return mark === -1 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

/** A kind of body: its media type, and the refusals of other types, of too long bodies and of malformed ones. */
export type BodyKind = {
  type: RegExp;
  other: 'not_a_form' | 'not_json';
  tooLong: 'form_too_long' | 'body_too_long';
  malformed: AppError;
};

/** A form, as browsers send it. */
export const FORM: BodyKind = {
  type: /^application\/x-www-form-urlencoded\s*(;\s*charset="?utf-8"?\s*)?$/i,
  other: 'not_a_form',
  tooLong: 'form_too_long',
  malformed: new AppError('bad_form'),
};

/** JSON. */
export const JSON_BODY: BodyKind = {
  type: /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i,
  other: 'not_json',
  tooLong: 'body_too_long',
  malformed: new AppError('bad_body', 'The body must be one JSON object in UTF-8.'),
};

/** Reads a body of this kind, at most {@link MAX_FORM_BYTES} of UTF-8. Throws the refusals of the kind. */
export async function readText(request: Request, { type, other, tooLong, malformed }: BodyKind): Promise<string> {
  const { headers } = request;
  if (!type.test(headers.get('content-type') ?? '')) throw new AppError(other);
  const bytes = await request.arrayBuffer();
  if (Math.max(bytes.byteLength, Number(headers.get('content-length') ?? 0)) > MAX_FORM_BYTES) {
    throw new AppError(tooLong);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformed;
  }
}

/** Throws `method_not_allowed` with the methods that a path has. */
export function refuseMethod(methods: readonly string[]): never {
  const sentence = `This path answers ${methods.join(', ').replace(/, (\w+)$/, ' and $1')} only.`;
  throw new AppError('method_not_allowed', sentence, { allow: methods.join(', ') });
}

/** The methods of the routes with one path; those that answer GET also answer HEAD. */
export function methodsOf(routes: readonly { method: string }[]): string[] {
  return routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}
