import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import { ErrorBody } from '../../../shared/api/bodies.ts';
import { Key, KeyWithHistory } from '../../../shared/api/key-bodies.ts';
import { LinesRefused } from '../../../shared/api/manage-bodies.ts';
import type { ClientCode, ErrorCode } from '../../../shared/errors.ts';
import { buildDocument, toTemplate } from '../../docs/openapi/builder.ts';
import { COMMON_HEADERS, headerComponents, headersNamed } from '../../docs/openapi/headers.ts';
import { type RefusalStyle, refusalResponses, type Thrown } from '../../docs/openapi/refusals.ts';
import type { OpenApi } from '../../docs/openapi/types.ts';
import { TOKEN_REFUSALS } from '../call-checks.ts';
import type { LoginRoute } from '../login.ts';
import { OAUTH_CODES } from '../refusals.ts';
import { type Admitted, lackOfRight, type ManageRoute, WRONG_TOKEN } from '../request-context.ts';
import { LOGIN_ROUTES, MANAGE_ROUTES } from '../routes.ts';
import { KEY_DOCS } from './key-operations.ts';
import { MANAGE_DOCS, type ManageDoc } from './operations.ts';

/** The server's URL in the document, which each server replaces with its own. */
const DOCUMENT_URL = 'http://127.0.0.1:3000';

const GUIDE =
  'For your backend, with its own token (`profilectl tokens add`), and for `profilectl` on the machines of owners and admins, with a personal token. Send the token as `Authorization: Bearer <token>`. Responses are JSON and must not be cached; refusals are `{"error":"<sentence>"}`, with their code in `X-Error-Code`.';

/** The documentation of each operation, by its method and path. */
const DOCS: Record<string, ManageDoc> = { ...MANAGE_DOCS, ...KEY_DOCS };

const OAuthError = z.strictObject({
  error: z.enum(OAUTH_CODES),
  // The characters that RFC 6749, section 5.2, allows.
  error_description: z.string().regex(/^[ !#-[\]-~]+$/),
});

const DECISION_NEEDED = z.strictObject({
  error: z.string(),
  address: z
    .url()
    .describe('The URL of the page on which admins decide on the key; only with the code `decision_needed`.')
    .optional(),
});

for (const [id, schema] of Object.entries({ Error: ErrorBody, OAuthError, Key, KeyWithHistory })) {
  z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), id });
}

/** Creates the OpenAPI document of `/manage/v1`. Throws if a route is not documented. */
export function manageDocument(): OpenApi {
  const style: RefusalStyle = {
    headers: headerComponents(),
    bodyOf: refusalBody,
    headersOf: () => [],
    hasFixedValues: false,
    hasRemedies: false,
    made: new Map(),
  };
  return buildDocument({
    title: 'Profile Lookup for backends and profilectl',
    summary: 'Send profiles, sign users in, and manage keys.',
    description: GUIDE,
    publicUrl: DOCUMENT_URL,
    prefix: '',
    tags: { Backend: 'For backends’ tokens.', Person: 'For the personal tokens of owners and admins.' },
    paths: pathsOf([...MANAGE_ROUTES, ...LOGIN_ROUTES], style),
    others: {
      description: 'The responses to other methods, and on all other paths under `/manage`.',
      responses: refusalResponses(style, [...COMMON, ...OTHER], TOKEN_REFUSALS),
    },
    securitySchemes: {
      backend: {
        type: 'http',
        scheme: 'bearer',
        description: 'A backend’s token; `x-right` is the right that it needs.',
      },
      person: { type: 'http', scheme: 'bearer', description: 'A personal token of an owner or an admin.' },
    },
  });
}

/** The refusals of every operation, whether or not it needs a token. */
const COMMON: readonly ClientCode[] = [
  'bad_request',
  'plain_http',
  'too_many_failures',
  'internal',
  'busy',
  'not_ready',
  'too_many_pages',
];

/** The refusals of all other paths and methods. */
const OTHER: readonly ClientCode[] = ['unknown_path', 'method_not_allowed', 'uri_too_long'];

/** The refusals whose bodies have more than a sentence. */
const OWN_BODIES: Partial<Record<ErrorCode, z.ZodType>> = {
  lines_refused: LinesRefused,
  decision_needed: DECISION_NEEDED,
};

function refusalBody(codes: readonly ErrorCode[]): z.ZodType {
  const own = codes.find((code) => OWN_BODIES[code] !== undefined);
  if (own !== undefined) return OWN_BODIES[own] as z.ZodType;
  const ofOAuth = codes.filter((code) => (OAUTH_CODES as readonly string[]).includes(code));
  if (ofOAuth.length === 0) return ErrorBody;
  return ofOAuth.length === codes.length ? OAuthError : z.union([ErrorBody, OAuthError]);
}

function pathsOf(routes: readonly (ManageRoute | LoginRoute)[], style: RefusalStyle): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    const path = toTemplate(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, style) };
  }
  return paths;
}

/** Which token a route needs: as a sentence, as OpenAPI's `security`, and the refusals of requests without it. */
type Need = {
  sentence: string;
  security: Record<string, string[]>[];
  right?: string;
  refusals: ManageDoc['refusals'];
  thrown: Thrown;
};

const NO_TOKEN: Need = {
  sentence: 'Needs no bearer token.',
  security: [],
  refusals: ['invalid_request', 'invalid_client'],
  thrown: {},
};

function needOf(who: Admitted): Need {
  const refusals = ['bad_parameter'] as const;
  if (who === 'any') {
    const security = [{ backend: [] }, { person: [] }];
    return { sentence: 'Works with any token.', security, refusals, thrown: TOKEN_REFUSALS };
  }
  if (who === 'person') {
    const thrown = { ...TOKEN_REFUSALS, forbidden: WRONG_TOKEN.backend };
    return { sentence: 'Needs a personal token.', security: [{ person: [] }], refusals, thrown };
  }
  const right = who.backend;
  const sentence = `Needs a backend's token with the right \`${right}\`.`;
  const thrown = { ...TOKEN_REFUSALS, forbidden: WRONG_TOKEN.person, insufficient_scope: lackOfRight(right) };
  return { sentence, security: [{ backend: [] }], right, refusals, thrown };
}

function operationOf(route: ManageRoute | LoginRoute, style: RefusalStyle): ZodOpenApiOperationObject {
  const doc = DOCS[`${route.method} ${route.path}`];
  if (doc === undefined) throw new Error(`The document has no operation for ${route.method} ${route.path}.`);
  const need = 'who' in route ? needOf(route.who) : NO_TOKEN;
  return {
    operationId: doc.operationId,
    tags: need === NO_TOKEN ? ['Person'] : need.security.map((scheme) => ('person' in scheme ? 'Person' : 'Backend')),
    summary: doc.summary,
    description: `${doc.description} ${need.sentence}`,
    security: need.security,
    ...(need.right !== undefined && { 'x-right': need.right }),
    ...(doc.parameters && { requestParams: doc.parameters }),
    ...(doc.request && {
      requestBody: { required: true, content: { [doc.request.type]: { schema: doc.request.schema } } },
    }),
    responses: {
      ...Object.fromEntries((doc.statuses ?? [200]).map((status) => [String(status), successOf(doc, status, style)])),
      ...refusalResponses(
        style,
        [...COMMON, ...need.refusals, ...doc.refusals],
        { ...need.thrown, ...doc.thrown },
        doc.operationId,
      ),
    },
  };
}

const SUCCESSES: Readonly<Record<number, string>> = {
  200: 'Success.',
  201: 'Created.',
};

function successOf({ body, headers }: ManageDoc, status: number, style: RefusalStyle) {
  return {
    description: SUCCESSES[status] as string,
    headers: z.object({ ...headersNamed(style.headers, ...COMMON_HEADERS, 'No-Cache-Control'), ...headers }),
    content: { 'application/json': { schema: body } },
  };
}
