import { z } from 'zod';
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { AppError, type ClientCode, type ErrorCode, refusalOf } from '../../../shared/errors.ts';
import { type PublicRefusal, publicRefusal } from '../../http/errors.ts';
import { rateLimited } from '../../http/quota.ts';
import { tooManyFailures } from '../../http/throttle.ts';
import { COMMON_HEADERS, type Headers, headersNamed, ownHeader } from './headers.ts';

/** Refusals as a route throws them, by their codes. */
export type Thrown = Partial<Record<ClientCode, AppError>>;

/** How a document describes refusals. */
export type RefusalStyle = {
  readonly headers: Headers;
  /** The schema of the body of refusals with these codes, which share a status. */
  readonly bodyOf: (codes: readonly ErrorCode[]) => z.ZodType;
  /** The names of further header components of a response with one of these codes. */
  readonly headersOf: (codes: readonly ErrorCode[]) => readonly string[];
  /** Whether headers such as Allow have the same value on every route, so that the document can list the values. */
  readonly hasFixedValues: boolean;
  /** Whether examples say what to do about a refusal. */
  readonly hasRemedies: boolean;
  /** The components made so far, by their ids: equal responses share one. */
  readonly made: Map<string, { signature: string; response: ZodOpenApiResponseObject }>;
};

/**
 * The responses of these refusals, one for each status, as the server sends them. `thrown` has further ones, or own sentences
 * of some. Responses of an operation become components, with `operationId` in their names if only their sentences differ;
 * with null they are inlined.
 */
export function refusalResponses(
  style: RefusalStyle,
  codes: Iterable<ClientCode>,
  thrown: Thrown = {},
  operationId: string | null = null,
): ZodOpenApiResponsesObject {
  const all = new Set([...codes, ...(Object.keys(thrown) as ClientCode[])]);
  const shown = [...all].map((code) => publicRefusal(thrown[code] ?? exampleOf(code)));
  const byStatus = [...Map.groupBy(shown, ({ status }) => status)].sort(([one], [other]) => one - other);
  return Object.fromEntries(
    byStatus.map(([status, group]) => [String(status), componentOf(style, group, operationId)]),
  );
}

/** An example of a refusal, with a typical Retry-After. */
function exampleOf(code: ClientCode): AppError {
  if (code === 'rate_limited') return rateLimited([{ quota: 60, windowSeconds: 60 }], 1, 12);
  if (code === 'too_many_failures') return tooManyFailures(42);
  return new AppError(code, refusalOf(code).sentence ?? '');
}

function componentOf(
  style: RefusalStyle,
  group: readonly PublicRefusal[],
  operationId: string | null,
): ZodOpenApiResponseObject {
  if (operationId === null) return responseOf(style, group);
  const codes = group.map(({ code }) => code);
  const signature = JSON.stringify([group, style.headersOf(codes)]);
  const general = codes.join('-or-');
  const known = style.made.get(general);
  const id = known === undefined || known.signature === signature ? general : `${general}.${operationId}`;
  const response = style.made.get(id)?.response ?? { id, ...responseOf(style, group) };
  style.made.set(id, { signature, response });
  return response;
}

function responseOf(style: RefusalStyle, group: readonly PublicRefusal[]): ZodOpenApiResponseObject {
  const codes = group.map(({ code }) => code);
  const examples = group.flatMap(({ code, body }) =>
    body.error === '' ? [] : [[code, exampleIn(style, code, body)] as const],
  );
  return {
    description: sentenceOf(codes.map((code) => refusalOf(code).when).join('; or ')),
    headers: z.object({
      ...headersNamed(style.headers, ...COMMON_HEADERS, 'No-Cache-Control', ...style.headersOf(codes)),
      'X-Error-Code': ownHeader(
        z.enum(codes as [ErrorCode, ...ErrorCode[]]),
        'The code of the refusal, for programs; the sentence in the body is for people, and may change.',
      ),
      ...ownHeaders(style, group),
    }),
    content: {
      'application/json': {
        schema: style.bodyOf(codes),
        ...(examples.length > 0 && { examples: Object.fromEntries(examples) }),
      },
    },
  };
}

function exampleIn({ hasRemedies }: RefusalStyle, code: ErrorCode, value: object) {
  const { when = '', remedy } = refusalOf(code);
  return { summary: sentenceOf(when), value, ...(hasRemedies && { 'x-remedy': remedy }) };
}

const OWN_HEADERS: Record<string, string> = {
  'WWW-Authenticate': 'What is wrong with the key or token (RFC 6750).',
  'Retry-After': 'Seconds to wait before sending the same request again.',
  Connection: '`close`: the rest of the body is not read.',
  Allow: 'The methods of this path.',
};

/** The headers that only refusals have. */
function ownHeaders({ hasFixedValues }: RefusalStyle, group: readonly PublicRefusal[]): Headers {
  return Object.fromEntries(
    Object.entries(OWN_HEADERS).flatMap(([name, description]) => {
      const values = group.flatMap(({ headers }) => headers?.[name] ?? []);
      if (values.length === 0) return [];
      const isSeconds = name === 'Retry-After';
      const isListed = hasFixedValues || name === 'Connection';
      const texts = isListed ? z.enum([...new Set(values)] as [string, ...string[]]) : z.string();
      const schema: z.ZodType = isSeconds ? z.int().min(1) : texts;
      const isAlways = values.length === group.length;
      const header = isAlways ? schema : schema.optional();
      return [[name, ownHeader(header, description, isSeconds ? Number(values[0]) : undefined)]];
    }),
  );
}

function sentenceOf(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}
