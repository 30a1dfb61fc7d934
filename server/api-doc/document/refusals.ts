import { AppError, DOCUMENTED_CODES, type DocumentedCode, REFUSALS, refusalOf } from '../../../shared/errors.ts';
import type { Route } from '../../request/chain.ts';
import { type ShownRefusal, shownOf } from '../../request/refusals.ts';
import { COMMON_HEADERS, headerReferences } from './headers.ts';
import type { Header, ResponseObject } from './types.ts';

/** The refusals after which the answer says where the key stands; before these the key was not known yet. */
const AFTER_KEY: readonly DocumentedCode[] = [
  'bad_parameter',
  'insufficient_scope',
  'not_found',
  'unknown_path',
  'method_not_allowed',
  'rate_limited',
];

/** The refusals where it depends on the moment. */
const MAYBE_AFTER_KEY: readonly DocumentedCode[] = ['busy', 'internal'];

/** Every refusal that requests outside the documented operations can meet, whatever the path and the method. */
export const OTHER_REFUSALS = DOCUMENTED_CODES.filter(
  (code) => !['bad_parameter', 'insufficient_scope', 'not_found', 'not_ready'].includes(code),
);

/** The refusals that a route can meet whatever it does itself. */
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

/** A refusal as a route really makes it, where its own code has thrown it. */
export type Thrown = Partial<Record<DocumentedCode, AppError>>;

/**
 * The answers of these refusals by status, made by the maker of the real ones. `access` is the route's, or `either` for
 * what can happen on any path; `thrown` are the errors that depend on the route.
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
              group.map(({ code, when, body }) => [code, { summary: sentenceOf(when), value: body }]),
            ),
          },
        },
      },
    ]),
  );
}

/** A refusal with this code as an example; the longer waits are those that clients really meet. */
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

/** The header that tells programs which refusal this is: one of those that this status can be. */
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

/** The headers that only refusals have, with every value that these give them. */
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
