import { AppError, DOCUMENTED_CODES, type DocumentedCode, refusalOf } from '../../../shared/errors.ts';
import { REFUSALS } from '../../../shared/refusals.ts';
import type { Route } from '../../request/chain.ts';
import { type ShownRefusal, shownOf } from '../../request/refusals.ts';
import { COMMON_HEADERS, headerReferences } from './headers.ts';
import { REMEDIES } from './remedies.ts';
import type { Header, ResponseObject } from './types.ts';

/** The refusals whose answers have RateLimit headers, since the key is verified before them. */
const AFTER_KEY: readonly DocumentedCode[] = [
  'bad_parameter',
  'insufficient_scope',
  'not_found',
  'unknown_path',
  'method_not_allowed',
  'rate_limited',
];

/** The refusals that can come before or after the key is verified. */
const MAYBE_AFTER_KEY: readonly DocumentedCode[] = ['busy', 'internal'];

/** The refusals of requests that are no documented operation: other paths and other methods. */
export const OTHER_REFUSALS = DOCUMENTED_CODES.filter(
  (code) => !['bad_parameter', 'insufficient_scope', 'not_found', 'not_ready'].includes(code),
);

/** The refusals that follow from who may use a route and what a request spends. */
export function refusalsOfAccess({ access, spends }: Pick<Route, 'access' | 'spends'>): DocumentedCode[] {
  const always: DocumentedCode[] = ['bad_request', 'plain_http'];
  if (access === 'anyone') return always;
  return [
    'bad_parameter',
    ...always,
    'no_credentials',
    'invalid_token',
    'too_many_failures',
    'internal',
    'busy',
    ...(spends === 'nothing' ? [] : ['rate_limited' as const]),
    ...(access === 'any key' ? [] : ['insufficient_scope' as const]),
  ];
}

/** Refusals as a route's own code throws them, by their codes. */
export type Thrown = Partial<Record<DocumentedCode, AppError>>;

/**
 * The answers of these refusals by status, shown as the server shows them. `access` is the route's, or `either` for refusals
 * that can come on any path; `thrown` has the refusals that depend on the route.
 */
export function refusalResponses(
  codes: readonly DocumentedCode[],
  access: Route['access'] | 'either',
  thrown: Thrown = {},
): Record<string, ResponseObject> {
  const made = codes.map((code): Made => {
    const { when } = REFUSALS[code];
    return { when, ...shownOf(thrown[code] ?? exampleOf(code)) };
  });
  const byStatus = [...Map.groupBy(made, ({ status }) => status)].sort(([one], [other]) => one - other);
  return Object.fromEntries(
    byStatus.map(([status, group]) => [
      String(status),
      {
        description: sentenceOf(group.map(({ when }) => when).join('; or ')),
        headers: {
          ...headerReferences(...COMMON_HEADERS, 'No-Cache-Control', ...rateLimitHeaders(group, access)),
          'X-Error-Code': errorCodeHeader(group),
          ...ownHeaders(group),
        },
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Error' },
            examples: Object.fromEntries(
              group.map(({ code, when, body }) => [
                code,
                { summary: sentenceOf(when), value: body, 'x-remedy': REMEDIES[code as DocumentedCode] },
              ]),
            ),
          },
        },
      },
    ]),
  );
}

/** An example of a refusal. Refusals by a limit have a Retry-After of more than a second, as clients mostly get it. */
function exampleOf(code: DocumentedCode): AppError {
  const isOfLimit = code === 'rate_limited' || code === 'too_many_failures';
  return new AppError(code, refusalOf(code).sentence ?? '', isOfLimit ? { retryAfterSeconds: 42 } : {});
}

type Made = { when: string } & ShownRefusal;

function rateLimitHeaders(group: readonly Made[], access: Route['access'] | 'either'): string[] {
  const known = group.filter(({ code }) => isOneOf(code, AFTER_KEY)).length;
  if (access === 'anyone' || (known === 0 && !group.some(({ code }) => isOneOf(code, MAYBE_AFTER_KEY)))) return [];
  const prefix = known === group.length && access !== 'either' ? '' : 'Optional-';
  return [`${prefix}RateLimit-Policy`, `${prefix}RateLimit`];
}

function isOneOf(code: string, codes: readonly string[]): boolean {
  return codes.includes(code);
}

/** The X-Error-Code header of a status: the codes of all refusals with this status. */
function errorCodeHeader(group: readonly Made[]): Header {
  return {
    description: 'Which refusal this is, for programs; the sentence in the body is for people and may change.',
    required: true,
    schema: { type: 'string', enum: group.map(({ code }) => code) },
  };
}

const OWN_HEADERS: Record<string, string> = {
  'WWW-Authenticate': 'What is wrong with the key (RFC 6750).',
  'Retry-After': 'Seconds after which the same request has room, or is worth trying again.',
  Allow: 'The methods that this path has.',
};

/** The headers that only refusals have, with all values that these refusals give them. */
function ownHeaders(group: readonly Made[]): Record<string, Header> {
  return Object.fromEntries(
    Object.entries(OWN_HEADERS).flatMap(([name, description]) => {
      const values = group.flatMap(({ headers }) => headers?.[name] ?? []);
      if (values.length === 0) return [];
      const isSeconds = name === 'Retry-After';
      const header: Header = {
        description,
        required: values.length === group.length,
        schema: isSeconds ? { type: 'integer', minimum: 1 } : { type: 'string', enum: [...new Set(values)] },
        ...(isSeconds && { example: Number(values[0]) }),
      };
      return [[name, header]];
    }),
  );
}

function sentenceOf(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}
