import { COMMON_HEADERS, headerComponents, headerReferences } from '../../api-doc/document/headers.ts';
import type { OpenApi, Operation } from '../../api-doc/document/types.ts';
import type { ManageRoute } from '../call.ts';
import { MANAGE_ROUTES } from '../routes.ts';
import { MANAGE_DOCS, type ManageDoc, objectOf } from './operations.ts';
import { COMMON, OTHER, responsesOf } from './refusals.ts';

/** An operation with the body that it takes. */
export type ManageOperation = Operation & { requestBody?: { required: true; content: Record<string, object> } };

/** The document of `/manage/v1`, which is OpenAPI 3.1. */
export type ManageApi = Omit<OpenApi, 'paths'> & {
  paths: Record<string, Partial<Record<'get' | 'post', ManageOperation>>>;
};

/** The version of this interface, which is not the version of the package. */
const INTERFACE_VERSION = '1.0.0';

/** The address in the document, which a server replaces by its own. */
export const DOCUMENT_URL = 'http://127.0.0.1:3000';

const GUIDE =
  'For the backend of the platform, with a token of its own (`profilectl tokens add`). Send it as `Authorization: Bearer <token>`. Answers are JSON and never stored; refusals are `{"error":"<sentence>"}`, and name their code in `X-Error-Code`.';

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
      title: 'Profile Lookup for backends',
      version: INTERFACE_VERSION,
      summary: 'Sending profiles and signing users in.',
      description: GUIDE,
      license: { name: 'As agreed with the operator of this server', url: `${DOCUMENT_URL}/docs` },
    },
    servers: [{ url: DOCUMENT_URL, description: 'This server.' }],
    tags: [{ name: 'Platform', description: 'What a token of a platform can do.' }],
    paths: Object.fromEntries(
      MANAGE_ROUTES.map((route) => [route.path, { [route.method.toLowerCase()]: operationOf(route) }]),
    ),
    'x-other-requests': {
      description: 'What is answered to other methods, and on every other path under `/manage`.',
      responses: responsesOf([...COMMON, ...OTHER]),
    },
    components: {
      schemas: { Error: objectOf({ error: { type: 'string' } }) },
      headers: Object.fromEntries(Object.entries(used).filter(([name]) => names.includes(name))),
      responses: {},
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A token of a platform; the roles are the rights.' },
      },
    },
  };
}

function operationOf(route: ManageRoute): ManageOperation {
  const doc = MANAGE_DOCS[route.path];
  if (doc === undefined) throw new Error(`The document has no operation for ${route.path}.`);
  const need = route.right === null ? 'Any token will do.' : `Needs the right \`${route.right}\`.`;
  return {
    operationId: doc.operationId,
    tags: ['Platform'],
    summary: doc.summary,
    description: `${doc.description} ${need}`,
    security: [{ token: route.right === null ? [] : [route.right] }],
    ...(doc.parameters && { parameters: doc.parameters }),
    ...(doc.request && {
      requestBody: { required: true, content: { [doc.request.type]: { schema: doc.request.schema } } },
    }),
    responses: { '200': foundOf(doc), ...responsesOf([...COMMON, 'bad_parameter', ...doc.refusals.filter(isOwn)]) },
  };
}

const isOwn = (code: ManageDoc['refusals'][number]) => code !== 'bad_parameter';

function foundOf({ body }: ManageDoc) {
  return {
    description: 'What was asked for.',
    headers: headerReferences(...COMMON_HEADERS, 'No-Cache-Control'),
    content: { 'application/json': { schema: body } },
  };
}
