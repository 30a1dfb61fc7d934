import type { BODIES } from '../../../shared/api/bodies.ts';
import type { DocumentedCode } from '../../../shared/errors.ts';
import type { Thrown } from './refusals.ts';
import type { Parameter } from './types.ts';

/** What the document says of a route beyond what the route itself tells. */
export type OperationDoc = {
  operationId: string;
  tag: keyof typeof TAGS;
  summary: string;
  description: string;
  parameters?: readonly Parameter[];
  /** The body of a 200: a schema of ours, or a type of its own. */
  body:
    | keyof typeof BODIES
    | 'the document'
    | 'text/html; charset=utf-8'
    | 'text/plain; charset=utf-8'
    | 'text/plain; version=0.0.4; charset=utf-8';
  /** Targets whose answers over the sample profiles are shown. */
  examples?: Record<string, { summary: string; target: string }>;
  /** Targets whose refusals over the sample profiles are shown. */
  refused?: Partial<Record<DocumentedCode, string>>;
  /** Refusals beyond these and what the route's access brings. */
  refusals?: readonly DocumentedCode[];
  /** Errors whose sentences are the route's own. */
  thrown?: Thrown;
  /** The security scheme, where the route itself wants a credential that is no API key. */
  scheme?: 'metricsToken';
  /** Whether its body may be so big that it is sent in pieces. */
  mayBeBig?: true;
  /** Headers beyond those of every answer of its kind. */
  headers?: readonly string[];
};

/** The groups of operations, in the order in which people read them. */
export const TAGS = {
  Lookup: 'Public profiles and their links, one by one or many at once.',
  Leaderboard: 'The profiles with the most views.',
  Key: 'What the key that asks may do.',
  Server: 'What needs no key: health, metrics, this document, and whom to tell of a vulnerability.',
} as const;
