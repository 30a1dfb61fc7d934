// The parts of OpenAPI 3.1 that the document uses.

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
  $ref?: string;
};

/** A pointer to a component. */
export type Reference = { $ref: string };

/** A body that the server really sends, and the request that it answers (`x-request`: `GET <target>`). */
export type Example = { summary: string; value: unknown; 'x-request'?: string };

/** A parameter in the path, the query or a header of a request. */
export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description: string;
  schema: Schema;
  style?: string;
  explode?: boolean;
  example?: unknown;
};

/** A response header. */
export type Header = { description: string; required: boolean; schema: Schema; example?: unknown };

/** The answer with one status. */
export type ResponseObject = {
  description: string;
  headers: Record<string, Header | Reference>;
  content?: Record<string, { schema: Schema; examples?: Record<string, Example> }>;
};

/** What GET does on a path. */
export type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Record<string, string[]>[];
  'x-permission'?: string;
  parameters?: (Parameter | Reference)[];
  responses: Record<string, ResponseObject | Reference>;
};

/** The whole document. */
export type OpenApi = {
  openapi: string;
  info: {
    title: string;
    version: string;
    summary: string;
    description: string;
    license: { name: string; url: string };
  };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, { get: Operation }>;
  'x-other-requests': { description: string; responses: Record<string, ResponseObject> };
  components: {
    schemas: Record<string, Schema>;
    headers: Record<string, Header>;
    responses: Record<string, ResponseObject>;
    securitySchemes: Record<string, { type: 'http'; scheme: 'bearer'; description: string }>;
  };
};
