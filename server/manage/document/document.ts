import type { ErrorCode } from '../../../shared/errors.ts';
import { COMMON_HEADERS, headerComponents, headerReferences } from '../../api-doc/document/headers.ts';
import type { OpenApi, Operation } from '../../api-doc/document/types.ts';
import type { Admitted, ManageRoute } from '../call.ts';
import type { LoginRoute } from '../login.ts';
import { OAUTH_CODES } from '../refusals.ts';
import { LOGIN_ROUTES, MANAGE_ROUTES } from '../routes.ts';
import { KEY_DOCS } from './key-operations.ts';
import { KEY_SCHEMAS } from './key-schemas.ts';
import { MANAGE_DOCS, type ManageDoc, objectOf } from './operations.ts';
import { COMMON, OTHER, responsesOf } from './refusals.ts';

/** An operation with the body that it takes. */
export type ManageOperation = Operation & {
  /** The right that a token of a platform needs. It is no role of `security`, which some tools take for a fault. */
  'x-right'?: string;
  requestBody?: { required: true; content: Record<string, object> };
};

/** The document of `/manage/v1`, which is OpenAPI 3.1. */
export type ManageApi = Omit<OpenApi, 'paths'> & {
  paths: Record<string, Partial<Record<'get' | 'post' | 'patch', ManageOperation>>>;
};

/** The version of this interface, which is not the version of the package. */
const INTERFACE_VERSION = '1.0.0';

/** The address in the document, which a server replaces by its own. */
export const DOCUMENT_URL = 'http://127.0.0.1:3000';

const GUIDE =
  'For the backend of the platform, with a token of its own (`profilectl tokens add`), and for the `profilectl` of owners and admins on other machines, with a token of the person. Send it as `Authorization: Bearer <token>`. Answers are JSON and never stored; refusals are `{"error":"<sentence>"}`, and name their code in `X-Error-Code`.';

/** What is said of each operation, by its method and path. */
const DOCS: Record<string, ManageDoc> = { ...MANAGE_DOCS, ...KEY_DOCS };

/** Makes the text of the document, which is committed as openapi.json. Throws where a route has no entry. */
export function manageDocumentText(): string {
  return `${JSON.stringify(documentOf(), null, 2)}\n`;
}

function documentOf(): ManageApi {
  const used = headerComponents({ etag: '', contentLocation: '', link: '', rateLimitPolicy: '', rateLimit: '' });
  const names = [...COMMON_HEADERS, 'No-Cache-Control'];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Profile Lookup for backends and profilectl',
      version: INTERFACE_VERSION,
      summary: 'Sending profiles and signing users in.',
      description: GUIDE,
      license: { name: 'As agreed with the operator of this server', url: `${DOCUMENT_URL}/docs` },
    },
    servers: [{ url: DOCUMENT_URL, description: 'This server.' }],
    tags: [
      { name: 'Platform', description: 'What a token of a platform can do.' },
      { name: 'Person', description: 'What a token of a person can do.' },
    ],
    paths: pathsOf([...MANAGE_ROUTES, ...LOGIN_ROUTES]),
    'x-other-requests': {
      description: 'What is answered to other methods, and on every other path under `/manage`.',
      responses: responsesOf([...COMMON, 'no_credentials', 'invalid_token', ...OTHER]),
    },
    components: {
      schemas: {
        Error: objectOf({ error: { type: 'string' } }),
        OAuthError: objectOf({
          error: { type: 'string', enum: [...OAUTH_CODES] },
          // What RFC 6749 allows there.
          error_description: { type: 'string', pattern: '^[ !#-\\[\\]-~]+$' },
        }),
        ...KEY_SCHEMAS,
      },
      headers: Object.fromEntries(Object.entries(used).filter(([name]) => names.includes(name))),
      responses: {},
      securitySchemes: {
        platform: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token of a platform; `x-right` is the right that it needs.',
        },
        person: { type: 'http', scheme: 'bearer', description: 'A token of an owner or an admin.' },
      },
    },
  };
}

/** A path of the table of routes as the document has it: `/manage/v1/keys/{identifier}`. */
export function documentPath(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

function pathsOf(routes: readonly (ManageRoute | LoginRoute)[]): ManageApi['paths'] {
  const paths: ManageApi['paths'] = {};
  for (const route of routes) {
    const path = documentPath(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return paths;
}

/** What a route asks of the token: in words, for tools, and by which refusals it says no. */
type Need = { sentence: string; security: Operation['security']; right?: string; refusals: ManageDoc['refusals'] };

const NO_TOKEN: Need = {
  sentence: 'Takes no token as bearer.',
  security: [],
  refusals: ['invalid_request', 'invalid_client'],
};

function needOf(who: Admitted): Need {
  const both = ['no_credentials', 'invalid_token', 'bad_parameter'] as const;
  if (who === 'any') {
    return { sentence: 'Any token will do.', security: [{ platform: [] }, { person: [] }], refusals: both };
  }
  if (who === 'person') {
    return { sentence: 'Needs a token of a person.', security: [{ person: [] }], refusals: [...both, 'forbidden'] };
  }
  const right = who.platform;
  const sentence = `Needs a token of a platform with the right \`${right}\`.`;
  return { sentence, security: [{ platform: [] }], right, refusals: [...both, 'forbidden', 'insufficient_scope'] };
}

function operationOf(route: ManageRoute | LoginRoute): ManageOperation {
  const doc = DOCS[`${route.method} ${route.path}`];
  if (doc === undefined) throw new Error(`The document has no operation for ${route.method} ${route.path}.`);
  const need = 'who' in route ? needOf(route.who) : NO_TOKEN;
  const refusals = new Set<ErrorCode>([...COMMON, ...need.refusals, ...doc.refusals]);
  return {
    operationId: doc.operationId,
    tags: need === NO_TOKEN ? ['Person'] : need.security.map((scheme) => ('person' in scheme ? 'Person' : 'Platform')),
    summary: doc.summary,
    description: `${doc.description} ${need.sentence}`,
    security: need.security,
    ...(need.right !== undefined && { 'x-right': need.right }),
    ...(doc.parameters && { parameters: doc.parameters }),
    ...(doc.request && {
      requestBody: { required: true, content: { [doc.request.type]: { schema: doc.request.schema } } },
    }),
    responses: {
      ...Object.fromEntries((doc.statuses ?? [200]).map((status) => [String(status), foundOf(doc, status)])),
      ...responsesOf([...refusals]),
    },
  };
}

const FOUND: Readonly<Record<number, string>> = {
  200: 'What was asked for.',
  201: 'It is made.',
  202: 'The admin has let it through, and it is carried out; an approval’s mail is on its way.',
};

function foundOf({ body, headers }: ManageDoc, status: number) {
  return {
    description: FOUND[status] as string,
    headers: { ...headerReferences(...COMMON_HEADERS, 'No-Cache-Control'), ...headers },
    content: { 'application/json': { schema: body } },
  };
}
