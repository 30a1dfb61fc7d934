import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { BODIES } from '../../../shared/api/bodies.ts';
import { AppError, type DocumentedCode } from '../../../shared/errors.ts';
import { isPermission } from '../../../shared/keys/permissions.ts';
import { lackOf } from '../../http/with-key.ts';
import { OTHER_REFUSALS, rateLimitHeaders, refusalsOfAccess } from './api-refusals.ts';
import { buildDocument, toTemplate } from './builder.ts';
import { COMMON_HEADERS, type Headers, headerComponents, headersNamed, ownHeader } from './headers.ts';
import { type Access, type OperationDoc, TAGS } from './operation-doc.ts';
import { API_OPERATIONS } from './operations.ts';
import { IF_NONE_MATCH } from './parameters.ts';
import { API_PREFIX } from './read.ts';
import { type RefusalStyle, refusalResponses, type Thrown } from './refusals.ts';
import { type SampleAnswer, type Samples, withSamples } from './samples.ts';
import type { OpenApi } from './types.ts';

/**
 * Creates the OpenAPI document of the API, which is committed as openapi.json. It describes {@link API_OPERATIONS} on a server
 * with the default configuration; its examples are real responses about the sample profiles.
 */
export async function documentText(): Promise<string> {
  return `${JSON.stringify(await withSamples(documentOf), null, 2)}\n`;
}

for (const [id, schema] of Object.entries(BODIES)) z.globalRegistry.add(schema, { id });

/** Returns the response to one of the {@link TARGETS}. */
type Known = (target: string) => SampleAnswer;

async function documentOf({ ask, publicUrl }: Samples): Promise<OpenApi> {
  const answers = new Map<string, SampleAnswer>();
  // Each target is requested with a new key, so that no example depends on what another spent; `/api/key` shows a used key.
  for (const [index, target] of TARGETS.entries())
    answers.set(target, await ask(target, String(index).padStart(8, '0')));
  await ask('/api/lookup/uid/7', 'k7Qm2XaB');
  answers.set('/api/key', await ask('/api/key', 'k7Qm2XaB'));
  const known: Known = (target) => answers.get(target) as SampleAnswer;
  const headers = headerComponents(headerExamples(known));
  const made: RefusalStyle['made'] = new Map();
  const styleFor = (access: Access | 'either'): RefusalStyle => ({
    headers,
    bodyOf: () => BODIES.Error,
    headersOf: (codes) => rateLimitHeaders(codes, access),
    hasFixedValues: true,
    hasRemedies: true,
    made,
  });
  const paths = Object.entries(API_OPERATIONS).map(([path, doc]) => {
    const get = operationOf(doc, known, styleFor(doc.access));
    const template = toTemplate(path);
    if (!template.startsWith(`${API_PREFIX}/`)) return [template, { servers: [{ url: publicUrl }], get }] as const;
    return [template.slice(API_PREFIX.length), { get }] as const;
  });
  return buildDocument({
    title: 'Profile Lookup',
    summary: 'Public profiles, their links and a leaderboard.',
    description: 'The guide is at `/docs`.',
    publicUrl,
    prefix: API_PREFIX,
    tags: TAGS,
    paths: Object.fromEntries(paths),
    others: {
      description:
        'The responses to methods other than GET and HEAD, on `/`, and on all unlisted paths. The runtime itself sends an empty response to malformed HTTP, and none to a non-standard method.',
      responses: { ...redirect(known, headers), ...refusalResponses(styleFor('either'), OTHER_REFUSALS) },
    },
    securitySchemes: {
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        description:
          'The secret of an Active API key. An operation’s roles are the permissions that it needs, `api.lookup` or `api.leaderboard`; without a role, any key works.',
      },
      metricsToken: {
        type: 'http',
        scheme: 'bearer',
        description: 'The value of METRICS_TOKEN.',
      },
    },
  });
}

/** The targets (path and query) whose responses the document shows. */
const TARGETS = [
  '/',
  '/api/leaderboard?limit=10&offset=10',
  '/api/lookup/username/lovelace',
  ...Object.values(API_OPERATIONS).flatMap(({ examples = {}, refused = {} }) => [
    ...Object.values(examples).map(({ target }) => target),
    ...Object.values(refused),
  ]),
];

function operationOf(doc: OperationDoc, ask: Known, style: RefusalStyle): ZodOpenApiOperationObject {
  const permission = isPermission(doc.access) ? doc.access : null;
  return {
    operationId: doc.operationId,
    tags: [doc.tag],
    summary: doc.summary,
    description: `${doc.description} ${needOf(doc)}`,
    security: securityOf(doc),
    ...(permission !== null && { 'x-permission': permission }),
    ...(doc.parameters && { requestParams: doc.parameters }),
    responses: { ...found(doc, ask, style.headers), ...refused(doc, ask, style) },
  };
}

function needOf({ access, scheme }: OperationDoc): string {
  if (isPermission(access)) return `Needs the permission \`${access}\`.`;
  if (access === 'any key') return 'Needs a key, whatever its permissions.';
  return scheme === undefined ? 'Needs no key.' : 'Needs its own token instead of an API key.';
}

function securityOf({ access, scheme }: OperationDoc): Record<string, string[]>[] {
  if (access === 'anyone') return scheme === undefined ? [] : [{ [scheme]: [] }];
  return [{ apiKey: isPermission(access) ? [access] : [] }];
}

/** The refusals of an operation, some with their own sentences. */
function refused(doc: OperationDoc, ask: Known, style: RefusalStyle): ZodOpenApiResponsesObject {
  const thrown: Thrown = isPermission(doc.access) ? { insufficient_scope: lackOf(doc.access) } : { ...doc.thrown };
  for (const [code, target] of Object.entries(doc.refused ?? {})) {
    const { headers, body } = ask(target);
    if (headers.get('X-Error-Code') !== code) throw new Error(`${target} is not refused as ${code}.`);
    thrown[code as DocumentedCode] = new AppError(code as DocumentedCode, JSON.parse(body).error);
  }
  return refusalResponses(style, [...refusalsOfAccess(doc), ...(doc.refusals ?? [])], thrown, doc.operationId);
}

/** The success responses: 200, and 304 if the operation supports it. */
function found(doc: OperationDoc, ask: Known, headers: Headers): ZodOpenApiResponsesObject {
  const isCacheable = doc.parameters?.header === IF_NONE_MATCH;
  const common = COMMON_HEADERS.map((name) => (name === 'Content-Length' && doc.mayBeBig ? `Optional-${name}` : name));
  const names = [
    ...common,
    ...(isCacheable ? ['ETag'] : []),
    ...cachingHeaders(doc, isCacheable),
    ...(doc.headers ?? []),
  ];
  const unchanged: ZodOpenApiResponseObject = {
    description: 'The client already has this response.',
    headers: z.object(headersNamed(headers, ...names.filter((name) => !/Content-(Length|Encoding)$/.test(name)))),
  };
  return {
    '200': {
      description: 'Success.',
      headers: z.object(headersNamed(headers, ...names)),
      content: contentOf(doc, ask),
    },
    ...(isCacheable && { '304': unchanged }),
  };
}

function cachingHeaders({ access }: OperationDoc, isCacheable: boolean): string[] {
  if (access !== 'anyone') return ['Private-Cache-Control', 'Vary', 'RateLimit-Policy', 'RateLimit'];
  return isCacheable ? ['Public-Cache-Control', 'Public-Vary', 'Content-Encoding'] : ['No-Cache-Control'];
}

function contentOf({ body, examples = {} }: OperationDoc, ask: Known) {
  const isOurs = body in BODIES;
  const shown = Object.entries(examples).map(([name, { summary, target }]) => {
    const answer = ask(target);
    if (answer.status !== 200) throw new Error(`${target} is refused: ${answer.body}`);
    return [name, { summary, value: isOurs ? JSON.parse(answer.body) : answer.body, 'x-request': `GET ${target}` }];
  });
  const isJson = isOurs || body === 'the document';
  const schema = isOurs ? BODIES[body as keyof typeof BODIES] : isJson ? z.looseObject({}) : z.string();
  return {
    [isJson ? 'application/json' : body]: { schema, ...(shown.length > 0 && { examples: Object.fromEntries(shown) }) },
  };
}

/** The redirect from `/`, which is not under `paths`, because strict linters require every operation to have a 2xx response. */
function redirect(ask: Known, headers: Headers): ZodOpenApiResponsesObject {
  const answer = ask('/');
  const location = answer.headers.get('Location') ?? '';
  // If PUBLIC_URL has a path, Location begins with it.
  const where = ownHeader(z.string().regex(new RegExp(`${location}$`)), 'The URL of the documentation.', location);
  const all = { ...headersNamed(headers, ...COMMON_HEADERS, 'No-Cache-Control'), Location: where };
  return {
    [String(answer.status) as '302']: { description: '`/` redirects to the documentation.', headers: z.object(all) },
  };
}

function headerExamples(ask: Known) {
  const of = (target: string, name: string) => ask(target).headers.get(name) ?? '';
  return {
    etag: of('/api/lookup/uid/7', 'ETag'),
    contentLocation: of('/api/lookup/username/lovelace', 'Content-Location'),
    link: of('/api/leaderboard?limit=10&offset=10', 'Link'),
    rateLimitPolicy: of('/api/lookup/uid/7', 'RateLimit-Policy'),
    rateLimit: of('/api/lookup/uid/7', 'RateLimit'),
  };
}
