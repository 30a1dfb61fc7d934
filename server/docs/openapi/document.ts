import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { BODIES } from '../../../shared/api/bodies.ts';
import { AppError, type ErrorCode } from '../../../shared/errors.ts';
import { etagOf } from '../../../shared/etag.ts';
import { isPermission } from '../../../shared/keys/permissions.ts';
import { ROUTES } from '../../app.ts';
import type { Answer } from '../../http/answers.ts';
import { lackOf, type Route } from '../../http/chain.ts';
import { rateLimit, rateLimitPolicy } from '../../http/quota.ts';
import { OTHER_REFUSALS, rateLimitHeaders, refusalsOfAccess } from './api-refusals.ts';
import { buildDocument, toTemplate } from './builder.ts';
import guide from './guide.md' with { type: 'text' };
import { COMMON_HEADERS, type Headers, headerComponents, headersNamed, ownHeader } from './headers.ts';
import { type OperationDoc, TAGS } from './operation-doc.ts';
import { OPERATIONS } from './operations.ts';
import { IF_NONE_MATCH } from './parameters.ts';
import { API_PREFIX } from './read.ts';
import { type RefusalStyle, refusalResponses, type Thrown } from './refusals.ts';
import { type AskSample, type Samples, withSamples } from './samples.ts';
import type { OpenApi } from './types.ts';

/**
 * Makes the text of the OpenAPI 3.1 document of the API, which is committed as openapi.json. It describes {@link ROUTES} on a
 * server with the default configuration; its examples are the answers of these routes when the database holds the sample
 * profiles. Throws where a route has no entry in {@link OPERATIONS}.
 */
export async function documentText(): Promise<string> {
  return `${JSON.stringify(await withSamples(documentOf), null, 2)}\n`;
}

for (const [id, schema] of Object.entries(BODIES)) z.globalRegistry.add(schema, { id });

function documentOf(samples: Samples): OpenApi {
  const { ask, publicUrl } = samples;
  const headers = headerComponents(headerExamples(samples));
  const home = ROUTES.find(({ path }) => path === '/');
  const made: RefusalStyle['made'] = new Map();
  const styleFor = (access: Route['access'] | 'either'): RefusalStyle => ({
    headers,
    bodyOf: () => BODIES.Error,
    headersOf: (codes) => rateLimitHeaders(codes, access),
    hasFixedValues: true,
    made,
  });
  const paths = ROUTES.filter((route) => route !== home).map((route) => {
    const get = operationOf(route, ask, styleFor(route.access));
    const template = toTemplate(route.path);
    if (!template.startsWith(`${API_PREFIX}/`)) return [template, { servers: [{ url: publicUrl }], get }] as const;
    return [template.slice(API_PREFIX.length), { get }] as const;
  });
  return buildDocument({
    title: 'Profile Lookup',
    summary: 'Public profiles, their links and a leaderboard.',
    description: guide.trim(),
    publicUrl,
    prefix: API_PREFIX,
    tags: TAGS,
    paths: Object.fromEntries(paths),
    others: {
      description:
        'What is answered to other methods than GET and HEAD, on `/`, and on every path that is not listed. Malformed HTTP gets an empty answer, and a method that no standard knows gets none, before anything here looks at it.',
      responses: { ...redirect(home, ask, headers), ...refusalResponses(styleFor('either'), OTHER_REFUSALS) },
    },
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
  });
}

function operationOf(route: Route, ask: AskSample, style: RefusalStyle): ZodOpenApiOperationObject {
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
    ...(doc.parameters && { requestParams: doc.parameters }),
    responses: { ...found(route, doc, ask, style.headers), ...refused(route, doc, ask, style) },
  };
}

function needOf({ access }: Route, { scheme }: OperationDoc): string {
  if (isPermission(access)) return `Needs the permission \`${access}\`.`;
  if (access === 'any key') return 'Needs a key, whatever its permissions.';
  return scheme === undefined ? 'Needs no key.' : 'Needs a token of its own, which no API key is.';
}

function securityOf({ access }: Route, { scheme }: OperationDoc): Record<string, string[]>[] {
  if (access === 'anyone') return scheme === undefined ? [] : [{ [scheme]: [] }];
  return [{ apiKey: isPermission(access) ? [access] : [] }];
}

/** The refusals of an operation, some in sentences of its own. */
function refused(route: Route, doc: OperationDoc, ask: AskSample, style: RefusalStyle): ZodOpenApiResponsesObject {
  const thrown: Thrown = isPermission(route.access) ? { insufficient_scope: lackOf(route.access) } : { ...doc.thrown };
  for (const [code, target] of Object.entries(doc.refused ?? {})) {
    const error = ask(route, target);
    if (!(error instanceof AppError) || error.code !== code) throw new Error(`${target} is not refused as ${code}.`);
    thrown[error.code] = error;
  }
  const codes = [...refusalsOfAccess(route), ...(Object.keys(thrown) as ErrorCode[]), ...(doc.refusals ?? [])];
  return refusalResponses(style, codes, thrown, doc.operationId);
}

/** The answers to requests that are not refused. */
function found(route: Route, doc: OperationDoc, ask: AskSample, headers: Headers): ZodOpenApiResponsesObject {
  const isCacheable = doc.parameters?.header === IF_NONE_MATCH;
  const common = COMMON_HEADERS.map((name) => (name === 'Content-Length' && doc.mayBeBig ? `Optional-${name}` : name));
  const names = [
    ...common,
    ...(isCacheable ? ['ETag'] : []),
    ...cachingHeaders(route, isCacheable),
    ...(doc.headers ?? []),
  ];
  const unchanged: ZodOpenApiResponseObject = {
    description: 'The client has this answer already.',
    headers: z.object(headersNamed(headers, ...names.filter((name) => !/Content-(Length|Encoding)$/.test(name)))),
  };
  return {
    '200': {
      description: 'What was asked for.',
      headers: z.object(headersNamed(headers, ...names)),
      content: contentOf(route, doc, ask),
    },
    ...(isCacheable && { '304': unchanged }),
  };
}

function cachingHeaders({ access }: Route, isCacheable: boolean): string[] {
  if (access !== 'anyone') return ['Private-Cache-Control', 'Vary', 'RateLimit-Policy', 'RateLimit'];
  return isCacheable ? ['Public-Cache-Control', 'Public-Vary', 'Content-Encoding'] : ['No-Cache-Control'];
}

function contentOf(route: Route, { body, examples = {} }: OperationDoc, ask: AskSample) {
  const isOurs = body in BODIES;
  const shown = Object.entries(examples).map(([name, { summary, target }]) => {
    const answer = ask(route, target);
    if (answer instanceof AppError) throw new Error(`${target} is refused: ${answer.message}`);
    return [name, { summary, value: isOurs ? JSON.parse(answer.body) : answer.body, 'x-request': `GET ${target}` }];
  });
  const isJson = isOurs || body === 'the document';
  const schema = isOurs ? BODIES[body as keyof typeof BODIES] : isJson ? z.looseObject({}) : z.string();
  return {
    [isJson ? 'application/json' : body]: { schema, ...(shown.length > 0 && { examples: Object.fromEntries(shown) }) },
  };
}

/** The redirect from `/`. It is not among the paths, since strict linters want every operation to have a 2xx answer. */
function redirect(home: Route | undefined, ask: AskSample, headers: Headers): ZodOpenApiResponsesObject {
  if (home === undefined) return {};
  const { status, headers: { Location = '' } = {} } = ask(home, home.path) as Answer;
  // Where PUBLIC_URL has a path, Location begins with that.
  const where = ownHeader(z.string().regex(new RegExp(`${Location}$`)), 'Where to go.', Location);
  const all = { ...headersNamed(headers, ...COMMON_HEADERS, 'No-Cache-Control'), Location: where };
  return { [String(status) as '302']: { description: '`/` leads to the page for people.', headers: z.object(all) } };
}

function headerExamples({ ask, quotaAfterOne }: Samples) {
  const answer = (path: string, target: string) =>
    ask(ROUTES.find((route) => route.path === path) as Route, target) as Answer;
  const quota = quotaAfterOne();
  return {
    etag: etagOf(answer('/api/lookup/uid/:uid', '/api/lookup/uid/7').body),
    contentLocation:
      answer('/api/lookup/username/:username', '/api/lookup/username/lovelace').headers?.['Content-Location'] ?? '',
    link: answer('/api/leaderboard', '/api/leaderboard?limit=10&offset=10').headers?.Link ?? '',
    rateLimitPolicy: rateLimitPolicy(quota),
    rateLimit: rateLimit(quota),
  };
}
