import { HSTS } from '../../request/answers.ts';
import type { Header, Reference } from './types.ts';

const WINDOW = '"[1-9][0-9]*[smhd]"';
const POLICY = `${WINDOW};q=[0-9]+;w=[0-9]+`;
const LEVEL = `${WINDOW};r=[0-9]+;t=[0-9]+`;
const listOf = (item: string) => `^${item}(, ${item})*$`;

/** The examples of headers, which are taken from answers over the sample profiles. */
export type HeaderExamples = {
  etag: string;
  contentLocation: string;
  link: string;
  rateLimitPolicy: string;
  rateLimit: string;
};

function header(description: string, schema: Header['schema'], example?: unknown): Header {
  return { description, required: true, schema, ...(example !== undefined && { example }) };
}

function constant(description: string, value: string): Header {
  return header(description, { type: 'string', enum: [value] });
}

/** The headers that several answers have, by the names of their components. */
export function headerComponents(examples: HeaderExamples): Record<string, Header> {
  const rateLimit = header(
    'Where the key stands after this request: `r` requests are left, and `t` is the number of seconds within which no more than these can be used. Of a refused request only the limits that have no room for it.',
    { type: 'string', pattern: listOf(LEVEL) },
    examples.rateLimit,
  );
  const policy = header(
    'The rate limits of the key: `q` requests in any `w` seconds.',
    { type: 'string', pattern: listOf(POLICY) },
    examples.rateLimitPolicy,
  );
  return {
    'X-Request-Id': header(
      'The name of this request in the server’s log; quote it when something went wrong.',
      { type: 'string', pattern: '^[0-9A-Za-z]{12}-[0-9a-z]+$' },
      'x7Rk2mQ9bTzA-1f',
    ),
    Date: header('When the answer was made.', { type: 'string' }, 'Thu, 01 Jan 2026 00:00:00 GMT'),
    ...LENGTHS,
    'X-Content-Type-Options': constant('The type of the body is what Content-Type says.', 'nosniff'),
    'Strict-Transport-Security': { ...constant('Only where the server itself speaks TLS.', HSTS), required: false },
    ETag: header(
      'A strong validator: a function of the body alone, whichever key asks. Send it back as If-None-Match.',
      { type: 'string', pattern: '^"[^"]+"$' },
      examples.etag,
    ),
    'Private-Cache-Control': constant(
      'Keep it for yourself, and ask each time whether it has changed.',
      'private, no-cache',
    ),
    'Public-Cache-Control': constant('Anybody may keep it for five minutes.', 'public, max-age=300'),
    'No-Cache-Control': constant('Keep nothing.', 'no-store'),
    Vary: constant('The answer depends on the key that asks.', 'Authorization'),
    'Public-Vary': constant('Clients that accept gzip get the answer compressed.', 'Accept-Encoding'),
    'Content-Encoding': { ...constant('Where the client accepts it.', 'gzip'), required: false },
    'RateLimit-Policy': policy,
    RateLimit: rateLimit,
    'Optional-RateLimit-Policy': { ...policy, required: false },
    'Optional-RateLimit': { ...rateLimit, required: false },
    'Content-Location': {
      description: 'Where the name that was asked for is an alias: the path of the primary username.',
      required: false,
      schema: { type: 'string', pattern: '^/' },
      example: examples.contentLocation,
    },
    'Content-Security-Policy': header('The page runs only its own style and script, and loads nothing of others.', {
      type: 'string',
      pattern: "^default-src 'none'; ",
    }),
    'Referrer-Policy': constant('The page tells nobody that it was visited.', 'no-referrer'),
    Link: {
      description: 'The pages before and after this one, where there are such (RFC 8288).',
      required: false,
      schema: { type: 'string', pattern: '^<[^>]+>; rel="(next|prev)"(, <[^>]+>; rel="prev")?$' },
      example: examples.link,
    },
  };
}

const LENGTH: Header = {
  description: 'The length of the body in bytes.',
  required: true,
  schema: { type: 'integer', minimum: 0 },
};

const LENGTHS: Record<string, Header> = {
  'Content-Length': LENGTH,
  'Optional-Content-Length': {
    ...LENGTH,
    description: 'The length of the body in bytes; absent where a big one is sent in pieces (chunked).',
    required: false,
  },
};

/** References to header components, by the names of the headers: `Private-Cache-Control` is a `Cache-Control`. */
export function headerReferences(...components: string[]): Record<string, Reference> {
  return Object.fromEntries(
    components.map((component) => [
      component.replace(/^(Private|Public|No|Optional)-/, ''),
      { $ref: `#/components/headers/${component}` },
    ]),
  );
}

/** The headers of every answer that has a body. */
export const COMMON_HEADERS = [
  'X-Request-Id',
  'Date',
  'Content-Length',
  'X-Content-Type-Options',
  'Strict-Transport-Security',
] as const;
