import { METRICS_REFUSALS } from '../../observability/scrape.ts';
import type { OperationDoc } from './operation-doc.ts';
import { IF_NONE_MATCH } from './parameters.ts';

/** What the document says of the routes that need no API key, by the route's path. */
export const SERVER_OPERATIONS: Record<string, OperationDoc> = {
  '/healthz': {
    tag: 'Server',
    operationId: 'getHealth',
    summary: 'Ask whether the process is up',
    description: 'Answers as long as the process does.',
    body: 'Health',
    examples: { ok: { summary: 'It is', target: '/healthz' } },
  },
  '/readyz': {
    tag: 'Server',
    operationId: 'getReadiness',
    summary: 'Ask whether the server can answer',
    description: 'Answers well while the database is open and migrated.',
    body: 'Health',
    examples: { ok: { summary: 'It can', target: '/readyz' } },
    refusals: ['not_ready'],
  },
  '/metrics': {
    tag: 'Server',
    operationId: 'getMetrics',
    summary: 'Read how the server does',
    description:
      'Figures in Prometheus’ text form, for the operator: requests, refusals, latencies, keys, mails and sizes. While METRICS_TOKEN is unset there is nothing here.',
    body: 'text/plain; version=0.0.4; charset=utf-8',
    refusals: ['unknown_path', 'too_many_failures', 'internal', 'busy'],
    thrown: METRICS_REFUSALS,
    scheme: 'metricsToken',
  },
  '/.well-known/security.txt': {
    tag: 'Server',
    operationId: 'getSecurityContact',
    summary: 'Read whom to tell of a vulnerability',
    description: 'Where the operator has named a contact (RFC 9116).',
    body: 'text/plain; charset=utf-8',
    examples: { contact: { summary: 'A contact', target: '/.well-known/security.txt' } },
    refusals: ['unknown_path'],
  },
  '/openapi.json': {
    tag: 'Server',
    operationId: 'getOpenApi',
    summary: 'Read this document',
    description: 'OpenAPI 3.1: everything that this server answers, for programs.',
    parameters: { header: IF_NONE_MATCH },
    body: 'the document',
  },
  '/docs': {
    tag: 'Server',
    operationId: 'getDocs',
    summary: 'Read this document as a page',
    description: 'The same for people: one page that loads nothing from anywhere else.',
    parameters: { header: IF_NONE_MATCH },
    body: 'text/html; charset=utf-8',
    headers: ['Content-Security-Policy', 'Referrer-Policy'],
  },
  '/docs/try': {
    tag: 'Server',
    operationId: 'getTryPage',
    summary: 'Try the API in a browser',
    description:
      'Swagger UI, which sends requests with a key of yours. The key stays in the page’s memory. The page loads its two files from here, and nothing from anywhere else.',
    parameters: { header: IF_NONE_MATCH },
    body: 'text/html; charset=utf-8',
    headers: ['Content-Security-Policy', 'Referrer-Policy'],
  },
  '/docs/try/swagger-ui.js': {
    tag: 'Server',
    operationId: 'getTryScript',
    summary: 'Load the script of that page',
    description: 'Swagger UI.',
    parameters: { header: IF_NONE_MATCH },
    body: 'text/javascript; charset=utf-8',
  },
  '/docs/try/swagger-ui.css': {
    tag: 'Server',
    operationId: 'getTryStyle',
    summary: 'Load the style sheet of that page',
    description: 'Swagger UI.',
    parameters: { header: IF_NONE_MATCH },
    body: 'text/css; charset=utf-8',
  },
};
