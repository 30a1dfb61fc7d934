import { createDocument, type ZodOpenApiPathsObject, type ZodOpenApiResponsesObject } from 'zod-openapi';
import type { Components, OpenApi } from './types.ts';

/** The version of both HTTP interfaces, which is not the version of the package. */
export const INTERFACE_VERSION = '1.0.0';

/** The parts of a document. Requests, responses and headers are zod schemas. */
export type DocumentSource = {
  title: string;
  summary: string;
  /** Markdown. */
  description: string;
  /** The URL of a server with the default configuration; a running server replaces it with its own. */
  publicUrl: string;
  /** The path prefix (`/api` or empty) of operations that don't name their own server. */
  prefix: string;
  tags: Record<string, string>;
  paths: ZodOpenApiPathsObject;
  /** The responses to requests that match no operation. */
  others: { description: string; responses: ZodOpenApiResponsesObject };
  securitySchemes: Components['securitySchemes'];
};

/** An internal path for these responses, because zod-openapi creates components only for what is under `paths`. */
const OTHERS = '/x-other-requests';

/** Builds an OpenAPI 3.1 document, for the API or for `/manage`. */
export function buildDocument(source: DocumentSource): OpenApi {
  const { title, summary, description, publicUrl, prefix, tags, paths, others, securitySchemes } = source;
  const built = createDocument({
    openapi: '3.1.0',
    info: {
      title,
      version: INTERFACE_VERSION,
      summary,
      description,
      license: { name: 'As agreed with the operator of this server', url: `${publicUrl}/docs` },
    },
    servers: [{ url: publicUrl + prefix, description: 'This server.' }],
    tags: Object.entries(tags).map(([name, meaning]) => ({ name, description: meaning })),
    paths: { ...paths, [OTHERS]: { get: { responses: others.responses } } },
    components: { securitySchemes },
  });
  const made: OpenApi = JSON.parse(JSON.stringify(built));
  const { [OTHERS]: other, ...operations } = made.paths;
  const responses = other?.get?.responses ?? {};
  return { ...made, paths: operations, 'x-other-requests': { description: others.description, responses } };
}

/** Converts a path from Elysia's notation (`/api/lookup/uid/:uid`) to OpenAPI's (`/api/lookup/uid/{uid}`). */
export function toTemplate(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}
