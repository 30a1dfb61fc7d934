import { openapi } from '@elysiajs/openapi';
import { Elysia } from 'elysia';
import { z } from 'zod';
import { BODIES } from '../../shared/api/bodies.ts';
import type { Config } from '../../shared/config/config.ts';
import { DOCUMENTED_CODES, refusalOf } from '../../shared/errors.ts';
import { isMailAddress } from '../../shared/mail/address.ts';
import { apiRoutes } from '../api/api.ts';
import { HSTS } from '../http/answers.ts';
import type { Service } from '../service.ts';
import { headersNamed } from './operation.ts';

const PREFIX = '/api';

/** The OpenAPI document of the API, made by `@elysiajs/openapi` from the `detail` of the routes. */
export async function openApiDocument(service: Service): Promise<object> {
  const { publicUrl, publicName, contact } = service.deps.config;
  // An application of its own, because the plugin would list the routes outside the API, too.
  const app = new Elysia().use(apiRoutes(service)).use(
    openapi({
      path: '/page',
      specPath: '/document',
      documentation: {
        info: {
          title: publicName,
          // Of the interface, not of the program.
          version: '1.0.0',
          description: `Public profiles, their links and a leaderboard. The guide is at ${publicUrl}/docs.`,
          license: { name: 'As agreed with the operator of this server', url: `${publicUrl}/docs` },
          ...(contact !== null && { contact: contactOf(contact) }),
        },
        servers: [{ url: publicUrl + PREFIX, description: 'This server.' }],
        tags: [
          { name: 'Lookup', description: 'Public profiles and their links, one by one or many at once.' },
          { name: 'Leaderboard', description: 'The profiles with the most views.' },
          { name: 'Key', description: 'The key of the request.' },
        ],
      },
    }),
  );
  const answer = await app.handle(new Request('http://localhost/document'));
  const made = (await answer.json()) as { paths: Record<string, { get: object }> };
  const paths = app.routes.flatMap(({ path, hooks: { detail } }) => {
    if (detail?.operationId === undefined) return [];
    const template = path.replace(/:(\w+)/g, '{$1}');
    // In place of the parameters that the plugin derives from a path, which have neither a description nor a schema.
    const get = { ...made.paths[template]?.get, parameters: detail.parameters };
    return [[template.slice(PREFIX.length), { get }]];
  });
  return { ...made, openapi: '3.1.0', paths: Object.fromEntries(paths), components: componentsOf() };
}

function contactOf(contact: NonNullable<Config['contact']>) {
  return isMailAddress(contact) ? { email: contact } : { url: contact };
}

const { Health: _, ...OF_API } = BODIES;

function componentsOf() {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(OF_API)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => {
      // Later versions may add fields.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      // `{"type":["number","null"]}`: many generators, and what converts to OpenAPI 3.0, know no other nullable.
      const [value, none] = jsonSchema.anyOf ?? [];
      if (none?.type === 'null' && typeof value?.type === 'string') {
        delete jsonSchema.anyOf;
        Object.assign(jsonSchema, value, { type: [value.type, 'null'] });
      }
    },
  });
  const named = Object.entries(schemas).map(([name, { $schema: _, $id: __, ...schema }]) => [name, schema]);
  return {
    schemas: Object.fromEntries(named),
    headers: HEADERS,
    parameters: {
      'If-None-Match': {
        name: 'If-None-Match',
        in: 'header',
        description: 'The ETag of a stored response, a list of ETags, or `*`. If nothing has changed, a 304 is sent.',
        schema: { type: 'string' },
      },
    },
    responses: { Refusal: refusal() },
    securitySchemes: {
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        description:
          'The secret of an Active API key. An operation’s roles are the permissions that it needs; without a role, any key works.',
      },
    },
  };
}

/** The one response to all refused requests. */
function refusal() {
  const codes = DOCUMENTED_CODES.map((code) => {
    const { status, when, remedy } = refusalOf(code);
    return `- \`${code}\` (${status}): ${when}. ${remedy}`;
  });
  return {
    description: `A refusal. Programs should branch on the status or on \`X-Error-Code\`, to which codes may be added:\n\n${codes.join('\n')}`,
    headers: {
      ...headersNamed('Content-Length', 'X-Error-Code', 'WWW-Authenticate', 'Retry-After', 'Allow'),
      'Cache-Control': { description: 'It must not be stored.', required: true, schema: { const: 'no-store' } },
      // Only after a valid key.
      'RateLimit-Policy': { ...HEADERS['RateLimit-Policy'], required: false },
      RateLimit: { ...HEADERS.RateLimit, required: false },
    },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        example: { error: refusalOf('not_found').sentence },
      },
    },
  };
}

const text = { type: 'string' };

const HEADERS = {
  'X-Request-Id': {
    description: 'The id of the request in the server’s log; quote it when you report a problem.',
    required: true,
    schema: { ...text, pattern: '^[0-9A-Za-z]{12}-[0-9a-z]+$' },
  },
  Date: { description: 'When the response was sent.', required: true, schema: text },
  'Content-Length': {
    description:
      'The length of the body in bytes; absent if the body is big and sent in chunks. A 304 may have that of the 200.',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-Content-Type-Options': {
    description: 'Browsers must not guess a type other than Content-Type.',
    required: true,
    schema: { const: 'nosniff' },
  },
  'Strict-Transport-Security': { description: 'Only if the server itself speaks TLS.', schema: { const: HSTS } },
  'Cache-Control': {
    description: 'Only the client itself may store the response, and has to revalidate it each time.',
    required: true,
    schema: { const: 'private, no-cache' },
  },
  Vary: { description: 'The response depends on the key.', required: true, schema: { const: 'Authorization' } },
  ETag: {
    description: 'A strong validator, which depends only on the body. Send it back as If-None-Match.',
    required: true,
    schema: { ...text, pattern: '^"[^"]+"$' },
  },
  'RateLimit-Policy': {
    description: 'The rate limits of the key: `q` requests in any `w` seconds.',
    required: true,
    schema: { ...text, pattern: '^"[0-9]+[smhd]";q=[0-9]+;w=[0-9]+(, "[0-9]+[smhd]";q=[0-9]+;w=[0-9]+)*$' },
  },
  RateLimit: {
    description:
      'The levels of the limits after this request: `r` more can be sent within the next `t` seconds. At a 429, only the limits that have no room.',
    required: true,
    schema: { ...text, pattern: '^"[0-9]+[smhd]";r=[0-9]+;t=[0-9]+(, "[0-9]+[smhd]";r=[0-9]+;t=[0-9]+)*$' },
  },
  'Content-Location': {
    description: 'If the requested name is an alias: the path of the username.',
    schema: { ...text, pattern: '^/' },
  },
  Link: {
    description: 'The next and the previous page, if they exist (RFC 8288).',
    schema: { ...text, pattern: '^<[^>]+>; rel="(next|prev)"(, <[^>]+>; rel="prev")?$' },
  },
  'X-Error-Code': {
    description: 'The code of the refusal, for programs.',
    required: true,
    schema: { ...text, examples: DOCUMENTED_CODES },
  },
  'WWW-Authenticate': { description: 'What is wrong with the key (RFC 6750).', schema: text },
  'Retry-After': {
    description: 'Seconds to wait before sending the same request again.',
    schema: { type: 'integer', minimum: 1 },
  },
  Allow: { description: 'The methods of this path.', schema: text },
};
