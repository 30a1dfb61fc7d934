import { DOCUMENTED_CODES, type DocumentedCode, type ErrorCode } from '../../../shared/errors.ts';
import type { Access, OperationDoc } from './operation-doc.ts';

// Which refusals the routes of the API have, and which of these have RateLimit headers.

/** The refusals of other paths and methods than those of the documented operations. */
export const OTHER_REFUSALS = DOCUMENTED_CODES.filter(
  (code) => !['bad_parameter', 'insufficient_scope', 'not_found', 'not_ready'].includes(code),
);

/** The refusals that always have RateLimit headers, because they come after the key was verified. */
const AFTER_KEY: readonly ErrorCode[] = [
  'bad_parameter',
  'insufficient_scope',
  'not_found',
  'unknown_path',
  'method_not_allowed',
  'rate_limited',
];

/** The refusals that may have RateLimit headers, because they can come before or after the key was verified. */
const MAYBE_AFTER_KEY: readonly ErrorCode[] = ['busy', 'internal'];

/** The components of the RateLimit headers of a response with one of these codes; `access` is the operation's. */
export function rateLimitHeaders(codes: readonly ErrorCode[], access: Access | 'either'): string[] {
  const known = codes.filter((code) => AFTER_KEY.includes(code)).length;
  if (access === 'anyone' || (known === 0 && !codes.some((code) => MAYBE_AFTER_KEY.includes(code)))) return [];
  const prefix = known === codes.length && access !== 'either' ? '' : 'Optional-';
  return [`${prefix}RateLimit-Policy`, `${prefix}RateLimit`];
}

/** The refusals that follow from an operation's access and cost. */
export function refusalsOfAccess({ access, isFree }: Pick<OperationDoc, 'access' | 'isFree'>): DocumentedCode[] {
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
