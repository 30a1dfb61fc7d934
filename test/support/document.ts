import { Ajv2020 } from 'ajv/dist/2020';
import { createService } from '../../server/app.ts';
import { openApiDocument } from '../../server/docs/openapi.ts';
import { readTransport } from '../../server/http/transport.ts';
import { createLog } from '../../server/observability/log.ts';
import { closeReader } from '../../shared/db/reader.ts';
import { testDeps } from './world.ts';

// Checks that the status, headers and body of the API's responses are as the OpenAPI document says, and that other refusals have
// its form. The helpers with which tests send requests, such as `get`, do this for every response.

/** A received response, and its request. */
type Received = { method: string; target: string; status: number; headers: Headers; body: string };

type Reference = { $ref: string };
type Header = { required?: boolean; schema: { type?: string } };
type ResponseObject = { headers: Record<string, Header | Reference>; content?: Record<string, { schema: object }> };

/** The parts of the document that are compared. */
type OpenApi = {
  paths: Record<string, { get: { responses: Record<string, ResponseObject | Reference> } }>;
  components: { responses: { Refusal: ResponseObject } };
};

/** The connection's own headers (RFC 9110, section 7.6.1), and the body's type, which is the content's key. */
const NOT_DOCUMENTED = ['connection', 'keep-alive', 'transfer-encoding', 'content-type'];

const document = await makeDocument();
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
ajv.addSchema(document, 'document');

const OPERATIONS = Object.entries(document.paths).map(([path, { get }]) => ({
  pattern: new RegExp(`^/api${path.replace(/\{\w+\}/g, '[^/]+')}$`),
  responses: get.responses,
}));

/** The document without unknown fields in its schemas: clients have to accept them, but this version sends none. */
async function makeDocument(): Promise<OpenApi> {
  const deps = testDeps();
  const log = createLog('silent', Date.now, () => {});
  const service = createService(deps, readTransport(deps.config), log);
  const made = JSON.stringify(await openApiDocument(service));
  closeReader(service.reader);
  return JSON.parse(made.replaceAll('"#/components', '"document#/components'), (_, value) =>
    value?.type === 'object' && 'properties' in value && !('additionalProperties' in value)
      ? { ...value, additionalProperties: false }
      : value,
  );
}

/** Throws if a response doesn't match the document. */
export function checkAnswer(received: Received): void {
  const { method, target, status, headers, body } = received;
  // The runtime's own response to malformed HTTP, or none at all.
  if ([0, 400, 413, 431, 505].includes(status) && body === '' && !headers.has('content-type')) return;
  // On the wire, a number sign starts no fragment, and two slashes start no authority.
  const url = (target.startsWith('/') ? `http://h${target}` : target).replaceAll('#', '%23');
  const path = URL.parse(url)?.pathname ?? '';
  const isRead = method === 'GET' || method === 'HEAD';
  const documented = isRead ? OPERATIONS.find(({ pattern }) => pattern.test(path))?.responses[status] : undefined;
  const response = documented ?? (status < 400 ? undefined : document.components.responses.Refusal);
  const faults = response === undefined ? [] : faultsOf(resolved(response), received);
  if (response === undefined && /^\/api(\/|$)/.test(path)) faults.push('the status is not documented');
  if (faults.length === 0) return;
  throw new Error(`${method} ${target.slice(0, 200)} → ${status} is not as documented:\n${faults.join('\n')}`);
}

/** Resolves a reference within the document; returns anything else unchanged. */
function resolved<T extends object>(item: T | Reference): T {
  if (!('$ref' in item)) return item;
  const parts = item.$ref.split('/').slice(1);
  return parts.reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], document) as T;
}

function faultsOf(response: ResponseObject, { method, headers, body }: Received): string[] {
  const documented = Object.keys(response.headers).map((name) => name.toLowerCase());
  const unknown = [...headers.keys()].filter((name) => ![...documented, ...NOT_DOCUMENTED].includes(name));
  const faults = unknown.map((name) => `header ${name}: not documented`);
  for (const [name, header] of Object.entries(response.headers)) {
    const { required, schema } = resolved(header);
    const text = headers.get(name);
    if (text === null && required) faults.push(`header ${name}: missing`);
    if (text === null) continue;
    const value = schema.type === 'integer' ? Number(text) : text;
    faults.push(...schemaFaults(schema, value).map((fault) => `header ${name} (${text}): ${fault}`));
  }
  const type = headers.get('content-type');
  const content = response.content?.[type ?? ''];
  // The length is that of the compressed body, but the client has decompressed it.
  const isSentAsIs = headers.get('transfer-encoding') !== 'chunked' && !headers.has('content-encoding');
  if (content === undefined && (type !== null || response.content !== undefined))
    faults.push(`content-type ${type}: not documented`);
  else if (content === undefined || method === 'HEAD') {
    if (body !== '') faults.push('a body, but none is documented');
  } else if (isSentAsIs && Number(headers.get('content-length')) !== Buffer.byteLength(body)) {
    faults.push('content-length: wrong');
  } else {
    const value = type === 'application/json' ? JSON.parse(body) : body;
    faults.push(...schemaFaults(content.schema, value).map((fault) => `body: ${fault}`));
  }
  return faults;
}

function schemaFaults(schema: object, value: unknown): string[] {
  if (ajv.validate(schema, value)) return [];
  return (ajv.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}
