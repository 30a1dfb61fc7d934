import type { DocumentDecoration } from 'elysia';
import type { BODIES } from '../../shared/api/bodies.ts';
import type { Permission } from '../../shared/db/schema.ts';

/** What the OpenAPI document says about a route of the API. */
type Described = {
  id: string;
  tag: 'Lookup' | 'Leaderboard' | 'Key';
  summary: string;
  description: string;
  /** Null if any key may send the request. */
  permission: Permission | null;
  parameters: readonly { name: string; in: 'path' | 'query'; description: string; schema: object; example?: unknown }[];
  /** The schema of a success, one of the document's components. */
  body: keyof typeof BODIES;
  /** Headers that only this response has, as names of components. */
  headers?: readonly string[];
};

const ALWAYS = ['X-Request-Id', 'Date', 'X-Content-Type-Options', 'Strict-Transport-Security'];
const OF_SUCCESS = ['Cache-Control', 'Vary', 'ETag', 'RateLimit-Policy', 'RateLimit'];

/** References to header components. */
export function headersNamed(...names: readonly string[]) {
  return Object.fromEntries([...ALWAYS, ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The `detail` of a route: its operation in the OpenAPI document. */
export function operation(described: Described): { detail: DocumentDecoration } {
  const { id, tag, summary, description, permission, parameters, body, headers = [] } = described;
  const need =
    permission === null ? 'Needs a key, whatever its permissions.' : `Needs the permission \`${permission}\`.`;
  const success = headersNamed(...OF_SUCCESS, 'Content-Length', ...headers);
  return {
    detail: {
      operationId: id,
      tags: [tag],
      summary,
      description: `${description} ${need}`,
      security: [{ apiKey: permission === null ? [] : [permission] }],
      parameters: [
        ...parameters.map((one) => ({ ...one, ...(one.in === 'path' && { required: true }) })),
        { $ref: '#/components/parameters/If-None-Match' },
      ],
      responses: {
        '200': {
          description: 'Success.',
          headers: success,
          content: { 'application/json': { schema: { $ref: `#/components/schemas/${body}` } } },
        },
        '304': { description: 'The client already has this response.', headers: success },
        default: { $ref: '#/components/responses/Refusal' },
      },
    },
  };
}
