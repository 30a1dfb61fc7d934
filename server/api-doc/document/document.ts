import { z } from 'zod';
import { BODIES } from '../../../shared/api/bodies.ts';
import { AppError, type DocumentedCode } from '../../../shared/errors.ts';
import { etagOf } from '../../../shared/etag.ts';
import { isPermission } from '../../../shared/keys/permissions.ts';
import { ROUTES } from '../../app.ts';
import type { Answer } from '../../request/answers.ts';
import { lackOf, type Route } from '../../request/chain.ts';
import { type Quota, rateLimit, rateLimitPolicy } from '../../request/quota.ts';
import guide from './guide.md' with { type: 'text' };
import { COMMON_HEADERS, headerComponents, headerReferences } from './headers.ts';
import { type OperationDoc, TAGS } from './operation-doc.ts';
import { OPERATIONS } from './operations.ts';
import { IF_NONE_MATCH } from './parameters.ts';
import { OTHER_REFUSALS, refusalResponses, refusalsOfAccess, type Thrown } from './refusals.ts';
import { type AskSample, type Samples, withSamples } from './samples.ts';
import type { OpenApi, Operation, ResponseObject, Schema } from './types.ts';

/** The version of the HTTP interface, which is not the version of the package. */
export const INTERFACE_VERSION = '1.0.0';

/**
 * Makes the text of the OpenAPI 3.1 document, which is committed as openapi.json. It describes {@link ROUTES} on a server with
 * the default configuration; its examples are the answers of these routes when the database holds the sample profiles.
 * Throws where a route has no entry in {@link OPERATIONS}.
 */
export async function documentText(): Promise<string> {
  return `${JSON.stringify(await withSamples(documentOf), null, 2)}\n`;
}

function documentOf({ ask, quotaAfterOne, publicUrl }: Samples): OpenApi {
  const responses: Record<string, ResponseObject> = {};
  const home = ROUTES.find(({ path }) => path === '/');
  const paths = ROUTES.filter((route) => route !== home).map(
    (route) => [toTemplate(route.path), { get: operationOf(route, ask, responses) }] as const,
  );
  return {
    openapi: '3.1.0',
    info: {
      title: 'Profile Lookup',
      version: INTERFACE_VERSION,
      summary: 'Public profiles, their links and a leaderboard.',
      description: guide.trim(),
      license: { name: 'As agreed with the operator of this server', url: `${publicUrl}/docs` },
    },
    servers: [{ url: publicUrl, description: 'This server.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(paths),
    'x-other-requests': {
      description:
        'What is answered to other methods than GET and HEAD, on `/`, and on every path that is not listed. Malformed HTTP gets an empty answer, and a method that no standard knows gets none, before anything here looks at it.',
      responses: { ...redirect(home, ask), ...refusalResponses(OTHER_REFUSALS, 'either') },
    },
    components: {
      schemas: schemaComponents(),
      headers: headerComponents(headerExamples(ask, quotaAfterOne())),
      responses,
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The secret of an Active API key. The roles beside it are the permissions that an operation needs: `api.lookup` or `api.leaderboard`; none means that any key will do.',
        },
        metricsToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'What the operator has put into METRICS_TOKEN.',
        },
      },
    },
  };
}

/** A path as OpenAPI writes it (`/api/lookup/uid/{uid}`), from Elysia's (`/api/lookup/uid/:uid`). */
export function toTemplate(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

function operationOf(route: Route, ask: AskSample, components: Record<string, ResponseObject>): Operation {
  const doc = OPERATIONS[route.path];
  if (doc === undefined) throw new Error(`The OpenAPI document has no operation for ${route.path}.`);
  const permission = isPermission(route.access) ? route.access : null;
  return {
    operationId: doc.operationId,
    tags: [doc.tag],
    summary: doc.summary,
    description: `${doc.description} ${needOf(route, doc)}`,
    security: securityOf(route, doc),
    ...(permission !== null && { 'x-permission': permission }),
    ...(doc.parameters && { parameters: [...doc.parameters] }),
    responses: { ...found(route, doc, ask), ...refused(route, doc, ask, components) },
  };
}

function needOf({ access }: Route, { scheme }: OperationDoc): string {
  if (isPermission(access)) return `Needs the permission \`${access}\`.`;
  if (access === 'any key') return 'Needs a key, whatever its permissions.';
  return scheme === undefined ? 'Needs no key.' : 'Needs a token of its own, which no API key is.';
}

function securityOf({ access }: Route, { scheme }: OperationDoc): Operation['security'] {
  if (access === 'anyone') return scheme === undefined ? [] : [{ [scheme]: [] }];
  return [{ apiKey: isPermission(access) ? [access] : [] }];
}

/** References to the refusals of an operation. Operations with the same refusals share one entry of `components`. */
function refused(route: Route, doc: OperationDoc, ask: AskSample, components: Record<string, ResponseObject>) {
  const thrown: Thrown = isPermission(route.access) ? { insufficient_scope: lackOf(route.access) } : { ...doc.thrown };
  for (const [code, target] of Object.entries(doc.refused ?? {})) {
    const error = ask(route, target);
    if (!(error instanceof AppError) || error.code !== code) throw new Error(`${target} is not refused as ${code}.`);
    thrown[error.code as DocumentedCode] = error;
  }
  const codes = new Set([...refusalsOfAccess(route), ...Object.keys(thrown), ...(doc.refusals ?? [])]);
  const responses = refusalResponses([...codes] as DocumentedCode[], route.access, thrown);
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const examples = response.content?.['application/json']?.examples ?? {};
      const general = Object.keys(examples).join('-or-');
      const known = components[general];
      const isSame = known === undefined || Bun.deepEquals(known, response);
      const name = isSame ? general : `${general}.${doc.operationId}`;
      components[name] = response;
      return [status, { $ref: `#/components/responses/${name}` }];
    }),
  );
}

/** The answers to requests that are not refused. */
function found(route: Route, doc: OperationDoc, ask: AskSample): Record<string, ResponseObject> {
  const isPublic = route.access === 'anyone';
  const isCacheable = doc.parameters?.includes(IF_NONE_MATCH) ?? false;
  const kind = isPublic
    ? isCacheable
      ? ['Public-Cache-Control', 'Public-Vary', 'Content-Encoding']
      : ['No-Cache-Control']
    : ['Private-Cache-Control', 'Vary', 'RateLimit-Policy', 'RateLimit'];
  const common = COMMON_HEADERS.map((name) => (name === 'Content-Length' && doc.mayBeBig ? `Optional-${name}` : name));
  const names = [...common, ...(isCacheable ? ['ETag'] : []), ...kind, ...(doc.headers ?? [])];
  const unchanged: ResponseObject = {
    description: 'The client has this answer already.',
    headers: headerReferences(...names.filter((name) => !/Content-(Length|Encoding)$/.test(name))),
  };
  return {
    '200': {
      description: 'What was asked for.',
      headers: headerReferences(...names),
      content: contentOf(route, doc, ask),
    },
    ...(isCacheable && { '304': unchanged }),
  };
}

function contentOf(route: Route, doc: OperationDoc, ask: AskSample): Required<ResponseObject>['content'] {
  const { body } = doc;
  const isOurs = body in BODIES;
  const examples = Object.entries(doc.examples ?? {}).map(([name, { summary, target }]) => {
    const answer = ask(route, target);
    if (answer instanceof AppError) throw new Error(`${target} is refused: ${answer.message}`);
    return [name, { summary, value: isOurs ? JSON.parse(answer.body) : answer.body, 'x-request': `GET ${target}` }];
  });
  const schema: Schema = isOurs
    ? { $ref: `#/components/schemas/${body}` }
    : body === 'the document'
      ? { type: 'object' }
      : { type: 'string' };
  const type = isOurs || body === 'the document' ? 'application/json' : body;
  return { [type]: { schema, ...(examples.length > 0 && { examples: Object.fromEntries(examples) }) } };
}

/** The redirect from `/`. It is not among the paths, since strict linters want every operation to have a 2xx answer. */
function redirect(home: Route | undefined, ask: AskSample): Record<string, ResponseObject> {
  if (home === undefined) return {};
  const { status, headers: { Location } = {} } = ask(home, home.path) as Answer;
  // Where PUBLIC_URL has a path, Location begins with that.
  const schema = { type: 'string', pattern: `${Location}$` };
  const where = { description: 'Where to go.', required: true, schema, example: Location };
  const headers = { ...headerReferences(...COMMON_HEADERS, 'No-Cache-Control'), Location: where };
  return { [String(status)]: { description: '`/` leads to the page for people.', headers } };
}

/** The JSON Schemas of all bodies; where a body contains another, its schema refers to the other one's. */
function schemaComponents(): Record<string, Schema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(BODIES)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema, $id, ...schema }]) => [id, schema as unknown as Schema]),
  );
}

function headerExamples(ask: AskSample, quota: Quota) {
  const answer = (path: string, target: string) =>
    ask(ROUTES.find((route) => route.path === path) as Route, target) as Answer;
  return {
    etag: etagOf(answer('/api/lookup/uid/:uid', '/api/lookup/uid/7').body),
    contentLocation:
      answer('/api/lookup/username/:username', '/api/lookup/username/lovelace').headers?.['Content-Location'] ?? '',
    link: answer('/api/leaderboard', '/api/leaderboard?limit=10&offset=10').headers?.Link ?? '',
    rateLimitPolicy: rateLimitPolicy(quota),
    rateLimit: rateLimit(quota),
  };
}
