import { METRICS_REFUSALS } from '../../api/metrics.ts';
import type { OperationDoc } from './operation-doc.ts';
import { IF_NONE_MATCH } from './parameters.ts';

const SERVER = { access: 'anyone', tag: 'Server' } as const;
const CACHED = { ...SERVER, parameters: { header: IF_NONE_MATCH } } as const;
const PAGE = {
  ...CACHED,
  body: 'text/html; charset=utf-8',
  headers: ['Content-Security-Policy', 'Referrer-Policy'],
} as const;

/** The documentation of the routes that need no API key, by their paths. */
export const SERVER_OPERATIONS: Record<string, OperationDoc> = {
  '/healthz': {
    ...SERVER,
    operationId: 'getHealth',
    summary: 'Check that the process is up',
    description: 'Succeeds while the process runs.',
    body: 'Health',
    examples: { ok: { summary: 'The process is up', target: '/healthz' } },
  },
  '/readyz': {
    ...SERVER,
    operationId: 'getReadiness',
    summary: 'Check that the server is ready',
    description: 'Succeeds while the database is open and has the current schema.',
    body: 'Health',
    examples: { ok: { summary: 'The server is ready', target: '/readyz' } },
    refusals: ['not_ready'],
  },
  '/metrics': {
    ...SERVER,
    operationId: 'getMetrics',
    summary: 'Read the metrics',
    description:
      'Metrics for the operator in Prometheus’ text format: requests, refusals, latencies, keys, mails and sizes. Not found if METRICS_TOKEN is unset.',
    body: 'text/plain; version=0.0.4; charset=utf-8',
    refusals: ['unknown_path', 'too_many_failures', 'internal', 'busy'],
    thrown: METRICS_REFUSALS,
    scheme: 'metricsToken',
  },
  '/.well-known/security.txt': {
    ...SERVER,
    operationId: 'getSecurityContact',
    summary: 'Read the security contact',
    description: 'The contact for vulnerability reports (RFC 9116). Not found if the operator has set none.',
    body: 'text/plain; charset=utf-8',
    examples: { contact: { summary: 'A contact', target: '/.well-known/security.txt' } },
    refusals: ['unknown_path'],
  },
  '/openapi.json': {
    ...CACHED,
    operationId: 'getOpenApi',
    summary: 'Read the OpenAPI document',
    description: 'The API as an OpenAPI 3.1 document, for programs.',
    body: 'the document',
  },
  '/docs': {
    ...PAGE,
    operationId: 'getDocs',
    summary: 'Read the API reference',
    description: 'The API reference as one page, which loads nothing from other sites.',
  },
  '/docs.md': {
    ...CACHED,
    operationId: 'getDocsAsMarkdown',
    summary: 'Read the API reference as Markdown',
    description: 'The API reference as Markdown, for people and language models.',
    body: 'text/markdown; charset=utf-8',
  },
  '/docs/try': {
    ...PAGE,
    operationId: 'getTryPage',
    summary: 'Try the API in a browser',
    description:
      'Swagger UI, which sends requests with your key. The key stays in the page’s memory. The page loads two files from this server, and nothing from other sites.',
  },
  '/docs/try/swagger-ui.js': {
    ...CACHED,
    operationId: 'getTryScript',
    summary: 'Load the script of the try-it page',
    description: 'The script of Swagger UI.',
    body: 'text/javascript; charset=utf-8',
  },
  '/docs/try/swagger-ui.css': {
    ...CACHED,
    operationId: 'getTryStyle',
    summary: 'Load the style sheet of the try-it page',
    description: 'The style sheet of Swagger UI.',
    body: 'text/css; charset=utf-8',
  },
};
