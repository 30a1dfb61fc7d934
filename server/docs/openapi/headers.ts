import { z } from 'zod';
import { HSTS } from '../../http/answers.ts';

// The response headers of both documents, as zod schemas, which become entries of their `components`.

const WINDOW = '"[1-9][0-9]*[smhd]"';
const POLICY = `${WINDOW};q=[0-9]+;w=[0-9]+`;
const LEVEL = `${WINDOW};r=[0-9]+;t=[0-9]+`;
const listOf = (item: string) => new RegExp(`^${item}(, ${item})*$`);

/** Examples of headers from responses about the sample profiles. */
export type HeaderExamples = {
  etag: string;
  contentLocation: string;
  link: string;
  rateLimitPolicy: string;
  rateLimit: string;
};

const NO_EXAMPLES: Partial<HeaderExamples> = {};

/** Response headers by the names of their components: `Private-Cache-Control` is one of several `Cache-Control`s. */
export type Headers = Readonly<Record<string, z.ZodType>>;

const POLICY_MEANING = 'The rate limits of the key: `q` requests in any `w` seconds.';
const LEVEL_MEANING =
  'The levels of the rate limits after this request: `r` more requests can be sent within the next `t` seconds. For a rate-limited request, only the limits that have no room for it.';

/** A header: its schema, its meaning, and an example. */
type Described = [schema: z.ZodType, description: string, example?: unknown];

/** The headers whose examples don't come from a response. */
const FIXED: Record<string, Described> = {
  'X-Request-Id': [
    z.string().regex(/^[0-9A-Za-z]{12}-[0-9a-z]+$/),
    'The id of the request in the server’s log; quote it when you report a problem.',
    'x7Rk2mQ9bTzA-1f',
  ],
  Date: [z.string(), 'When the response was sent.', 'Thu, 01 Jan 2026 00:00:00 GMT'],
  'Content-Length': [z.int().min(0), 'The length of the body in bytes.'],
  'Optional-Content-Length': [
    z.int().min(0).optional(),
    'The length of the body in bytes; absent if the body is big and sent in chunks.',
  ],
  'X-Content-Type-Options': [z.literal('nosniff'), 'Browsers must not guess a type other than Content-Type.'],
  'Strict-Transport-Security': [z.literal(HSTS).optional(), 'Only if the server itself speaks TLS.'],
  'Private-Cache-Control': [
    z.literal('private, no-cache'),
    'Only the client itself may store the response, and has to revalidate it each time.',
  ],
  'Public-Cache-Control': [z.literal('public, max-age=300'), 'Every cache may store the response for five minutes.'],
  'No-Cache-Control': [z.literal('no-store'), 'The response must not be stored.'],
  Vary: [z.literal('Authorization'), 'The response depends on the key.'],
  'Public-Vary': [z.literal('Accept-Encoding'), 'The response is compressed for clients that accept gzip.'],
  'Content-Encoding': [z.literal('gzip').optional(), 'Only if the client accepts it.'],
  'Content-Security-Policy': [
    z.string().regex(/^default-src 'none'; /),
    'The page uses only its own styles and scripts, and loads nothing from other sites.',
  ],
  'Referrer-Policy': [z.literal('no-referrer'), 'Links don’t reveal that the page was visited.'],
};

const policy = z.string().regex(listOf(POLICY));
const level = z.string().regex(listOf(LEVEL));

function componentsOf(examples: Partial<HeaderExamples>): Record<string, Described> {
  return {
    ETag: [
      z.string().regex(/^"[^"]+"$/),
      'A strong validator, which depends only on the body, not on the key. Send it back as If-None-Match.',
      examples.etag,
    ],
    'RateLimit-Policy': [policy, POLICY_MEANING, examples.rateLimitPolicy],
    RateLimit: [level, LEVEL_MEANING, examples.rateLimit],
    'Optional-RateLimit-Policy': [policy.optional(), POLICY_MEANING, examples.rateLimitPolicy],
    'Optional-RateLimit': [level.optional(), LEVEL_MEANING, examples.rateLimit],
    'Content-Location': [
      z.string().regex(/^\//).optional(),
      'If the requested name is an alias: the path of the primary username.',
      examples.contentLocation,
    ],
    Link: [
      z
        .string()
        .regex(/^<[^>]+>; rel="(next|prev)"(, <[^>]+>; rel="prev")?$/)
        .optional(),
      'The previous and the next page, if they exist (RFC 8288).',
      examples.link,
    ],
  };
}

/** The headers that several responses have, by the names of their components. */
export function headerComponents(examples: Partial<HeaderExamples> = NO_EXAMPLES): Headers {
  const components = { ...FIXED, ...componentsOf(examples) };
  return Object.fromEntries(
    Object.entries(components).map(([id, [schema, description, example]]) => [
      id,
      schema.meta({ header: { id, description, ...(example !== undefined && { example }) } }),
    ]),
  );
}

/** A header that only one response has. */
export function ownHeader(schema: z.ZodType, description: string, example?: unknown): z.ZodType {
  return schema.meta({ header: { description, ...(example !== undefined && { example }) } });
}

/** The headers of a response by their names, from the names of their components. */
export function headersNamed(headers: Headers, ...components: readonly string[]): Headers {
  return Object.fromEntries(
    components.map((component) => [
      component.replace(/^(Private|Public|No|Optional)-/, ''),
      headers[component] as z.ZodType,
    ]),
  );
}

/** The headers of every response with a body. */
export const COMMON_HEADERS = [
  'X-Request-Id',
  'Date',
  'Content-Length',
  'X-Content-Type-Options',
  'Strict-Transport-Security',
] as const;
