import { AppError, type ErrorCode } from '../../../shared/errors.ts';
import type { Route } from '../../chain.ts';
import { refusalOf } from '../../refusals.ts';
import { COMMON_HEADERS, headerReferences } from './headers.ts';
import type { Header, ResponseObject } from './types.ts';

/** When a refusal comes, a sentence that it really has, and what it carries. */
type Case = { when: string; sentence?: string; details?: AppError['details'] };

const CASES = {
  bad_parameter: { when: 'a parameter is malformed, out of range, unknown or repeated; the sentence names it' },
  bad_request: { when: 'the request names no host', sentence: 'The request has no valid Host header.' },
  no_credentials: {
    when: 'there is no key, or Authorization is malformed or of another scheme',
    sentence: 'An API key is required, sent as "Authorization: Bearer <API key>".',
  },
  invalid_token: {
    when: 'the key is unknown, mistyped, not approved, withdrawn, revoked or expired: one sentence for all of these',
    sentence: 'This API key is not valid.',
  },
  plain_http: {
    when: 'the request came by plain HTTP where that is not allowed',
    sentence: 'This API is served over HTTPS only.',
  },
  insufficient_scope: { when: 'the key lacks the permission; the sentence names it' },
  not_found: { when: 'there is no such profile', sentence: 'There is no such profile.' },
  unknown_path: { when: 'there is nothing at this path', sentence: 'There is nothing at this path.' },
  method_not_allowed: {
    when: 'the method is neither GET nor HEAD',
    sentence: 'This path answers GET and HEAD only.',
  },
  uri_too_long: { when: 'the path has more than 8 KiB', sentence: 'The path is longer than 8192 bytes.' },
  rate_limited: {
    when: 'a rate limit of the key has no room; waiting for Retry-After is enough',
    sentence: 'This API key has used up a rate limit.',
    details: { retryAfterSeconds: 42 },
  },
  too_many_failures: {
    when: 'the 31st request without a valid key from one address within a minute',
    sentence: 'Too many requests without a valid API key came from this address.',
    details: { retryAfterSeconds: 42 },
  },
  internal: { when: 'a fault of the server; its log has the cause under the request id' },
  busy: { when: 'the database is locked for a moment' },
  not_ready: { when: 'the database is not open or not migrated', sentence: 'The database is not ready.' },
} as const satisfies Partial<Record<ErrorCode, Case>>;

/** A refusal that a client can meet. */
export type DocumentedCode = keyof typeof CASES;

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
export const OTHER_REFUSALS = Object.keys(CASES).filter(
  (code) => !['bad_parameter', 'insufficient_scope', 'not_found', 'not_ready'].includes(code),
) as DocumentedCode[];

/** The refusals that a route can meet whatever it does itself. */
export function refusalsOfAccess({ access, isFree }: Pick<Route, 'access' | 'isFree'>): DocumentedCode[] {
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
    ...(isFree ? [] : ['rate_limited' as const]),
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
    const { when, sentence = '', details }: Case = CASES[code];
    return { code, when, ...refusalOf(thrown[code] ?? new AppError(code, sentence, details)) };
  });
  const byStatus = [...Map.groupBy(made, ({ status }) => status)].sort(([one], [other]) => one - other);
  return Object.fromEntries(
    byStatus.map(([status, group]) => [
      String(status),
      {
        description: sentenceOf(group.map(({ when }) => when).join('; or ')),
        headers: {
          ...headerReferences(...COMMON_HEADERS, 'No-Cache-Control', ...rateLimitHeaders(group, access)),
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

type Made = { code: DocumentedCode; when: string } & ReturnType<typeof refusalOf>;

function rateLimitHeaders(group: readonly Made[], access: Route['access'] | 'either'): string[] {
  const known = group.filter(({ code }) => AFTER_KEY.includes(code)).length;
  if (access === 'anyone' || (known === 0 && !group.some(({ code }) => MAYBE_AFTER_KEY.includes(code)))) return [];
  const prefix = known === group.length && access !== 'either' ? '' : 'Optional-';
  return [`${prefix}RateLimit-Policy`, `${prefix}RateLimit`];
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
