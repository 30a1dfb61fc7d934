// The parts of OpenAPI 3.1 that the built documents use.

/** A JSON Schema of draft 2020-12. */
export type Schema = {
  [keyword: string]: unknown;
  type?: string | string[];
  format?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  $ref?: string;
};

/** A reference to an entry of the document's `components`. */
export type Reference = { $ref: string };

/**
 * A real response body, with its request `x-request` (`GET <target>`) or, for a refusal, with what to do about it (`x-remedy`).
 */
export type Example = { summary: string; value: unknown; 'x-request'?: string; 'x-remedy'?: string };

/** A parameter in the path, the query or a header of a request. */
export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description: string;
  schema: Schema;
  example?: unknown;
};

/** A response header. */
export type Header = { description: string; required?: boolean; schema: Schema; example?: unknown };

/** The response of an operation for one HTTP status. */
export type ResponseObject = {
  description: string;
  headers: Record<string, Header | Reference>;
  content?: Record<string, { schema: Schema; examples?: Record<string, Example> }>;
};

/** One operation of a path. */
export type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Record<string, string[]>[];
  /** The permission that an API key needs. */
  'x-permission'?: string;
  /** The right that a backend's token needs. It is not a role in `security`, which some tools would report as an error. */
  'x-right'?: string;
  parameters?: (Parameter | Reference)[];
  requestBody?: { required: true; content: Record<string, { schema: Schema }> };
  responses: Record<string, ResponseObject | Reference>;
};

/** The operations of one path, and its server if that differs from the document's. */
export type PathItem = Partial<Record<'get' | 'post' | 'patch', Operation>> & { servers?: { url: string }[] };

/** The components referenced by operations. */
export type Components = {
  schemas: Record<string, Schema>;
  headers: Record<string, Header>;
  responses: Record<string, ResponseObject>;
  securitySchemes: Record<string, { type: 'http'; scheme: 'bearer'; description: string }>;
};

/** A whole document. */
export type OpenApi = {
  openapi: string;
  info: {
    title: string;
    version: string;
    summary: string;
    description: string;
    license: { name: string; url: string };
    /** `CONTACT`, if the server has one. */
    contact?: { email: string } | { url: string };
  };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, PathItem>;
  'x-other-requests': { description: string; responses: Record<string, ResponseObject | Reference> };
  components: Components;
};
