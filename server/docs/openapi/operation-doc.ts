import type { BODIES } from '../../../shared/api/bodies.ts';
import type { Permission } from '../../../shared/db/key-columns.ts';
import type { DocumentedCode } from '../../../shared/errors.ts';
import type { Parameters } from './parameters.ts';
import type { Thrown } from './refusals.ts';

/** Who has access: anyone, any Active key, or Active keys with this permission. */
export type Access = 'anyone' | 'any key' | Permission;

/** The documentation of a route. */
export type OperationDoc = {
  access: Access;
  /** Set if requests don't count against the key's rate limits. */
  isFree?: true;
  operationId: string;
  tag: keyof typeof TAGS;
  summary: string;
  description: string;
  parameters?: Parameters;
  /** The body of a 200: the name of its schema, or its media type. */
  body:
    | keyof typeof BODIES
    | 'the document'
    | 'text/html; charset=utf-8'
    | 'text/markdown; charset=utf-8'
    | 'text/javascript; charset=utf-8'
    | 'text/css; charset=utf-8'
    | 'text/plain; charset=utf-8'
    | 'text/plain; version=0.0.4; charset=utf-8';
  /** Targets (path and query) whose responses about the sample profiles are the examples. */
  examples?: Record<string, { summary: string; target: string }>;
  /** Targets whose refusals are examples, by their codes. */
  refused?: Partial<Record<DocumentedCode, string>>;
  /** Refusals in addition to these and to those that follow from the route's access. */
  refusals?: readonly DocumentedCode[];
  /** Refusals for which the route has its own sentences. */
  thrown?: Thrown;
  /** The security scheme, if the route needs a token that is not an API key. */
  scheme?: 'metricsToken';
  /** Set if the body may be so big that it is sent in chunks. */
  mayBeBig?: true;
  /** Headers in addition to those of every response of this kind. */
  headers?: readonly string[];
};

/** The groups of operations, in the order of the page. */
export const TAGS = {
  Lookup: 'Public profiles and their links, one by one or many at once.',
  Leaderboard: 'The profiles with the most views.',
  Key: 'The key of the request.',
  Server: 'Health, metrics, this documentation, and the contact for vulnerability reports. Needs no API key.',
} as const;
