import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020';
import { createApp } from '../../server/app.ts';
import { readTransport } from '../../server/http/transport.ts';
import { createLog } from '../../server/observability/log.ts';
import { createService } from '../../server/service.ts';
import { closeReader } from '../../shared/db/reader.ts';
import { testDeps } from './world.ts';

// Checks that the status, headers and body of the API's responses are as the OpenAPI document says, and that other refusals have
// its form. The helpers with which tests send requests, such as `get`, do this for every response.

/** A received response, and its request. */
export type Received = { method: string; target: string; status: number; headers: Headers; body: string };

type Reference = { $ref: string };
type Header = { required?: boolean; schema: { type?: string } };
type ResponseObject = { headers: Record<string, Header | Reference>; content?: Record<string, { schema: object }> };

/** The parts of the document that are compared. */
export type OpenApi = {
  servers: { url: string }[];
  paths: Record<string, { get: { responses: Record<string, ResponseObject | Reference> } }>;
  components: { responses: { Refusal: ResponseObject } };
};

/** The connection's own headers (RFC 9110, section 7.6.1), and the body's type, which is the content's key. */
const NOT_DOCUMENTED = ['connection', 'keep-alive', 'transfer-encoding', 'content-type'];

/** The document as an application serves it; the URLs in it are not compared. */
const document = await documentOf();
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
ajv.addSchema(closed(document), 'document');
const validators = new Map<object, ValidateFunction>();

async function documentOf(): Promise<OpenApi> {
  const deps = testDeps();
  const service = createService(
    deps,
    readTransport(deps.config),
    createLog('silent', Date.now, () => {}),
  );
  const answer = await createApp(service).fetch(new Request('http://localhost/openapi.json'));
  closeReader(service.reader);
  return (await answer.json()) as OpenApi;
}

/** The same schema without unknown fields: clients have to accept them, but this version sends none. */
function closed(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (_, value) =>
    value?.type === 'object' && 'properties' in value && !('additionalProperties' in value)
      ? { ...value, additionalProperties: false }
      : value,
  );
}

/** Throws if a response doesn't match the document. */
export function checkAnswer(received: Received): void {
  const faults = isRuntimeAnswer(received) ? [] : faultsOf(received);
  if (faults.length === 0) return;
  const { method, target, status } = received;
  throw new Error(`${method} ${target.slice(0, 200)} → ${status} is not as documented:\n${faults.join('\n')}`);
}

/** The runtime's own response to malformed HTTP, or none at all. */
function isRuntimeAnswer({ status, headers, body }: Received): boolean {
  return [0, 400, 413, 431, 505].includes(status) && body === '' && !headers.has('content-type');
}

function faultsOf(received: Received): string[] {
  const { method, target, status } = received;
  // On the wire, a number sign starts no fragment, and two slashes start no authority.
  const path =
    URL.parse((target.startsWith('/') ? `http://h${target}` : target).replaceAll('#', '%23'))?.pathname ?? '';
  const operation = method === 'GET' || method === 'HEAD' ? operationAt(path) : undefined;
  const isApi = path === '/api' || path.startsWith('/api/');
  const response = operation?.responses[status] ?? (status < 400 ? undefined : document.components.responses.Refusal);
  if (response !== undefined) {
    const whole = resolved<ResponseObject>(response);
    return [...headerFaults(whole, received), ...bodyFaults(whole, received)];
  }
  return isApi ? ['the status is not documented'] : [];
}

function operationAt(path: string) {
  return OPERATIONS.find(({ pattern }) => pattern.test(path))?.operation;
}

const OPERATIONS = Object.entries(document.paths).map(([path, { get }]) => ({
  pattern: new RegExp(`^/api${path.replace(/\{\w+\}/g, '[^/]+')}$`),
  operation: get,
}));

/** Resolves a reference within the document; returns anything else unchanged. */
function resolved<T extends object>(item: T | Reference): T {
  if (!('$ref' in item)) return item;
  const parts = item.$ref.split('/').slice(1);
  return parts.reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], document) as T;
}

function headerFaults(response: ResponseObject, { headers }: Received): string[] {
  const documented = Object.entries(response.headers).map(
    ([name, header]) => [name.toLowerCase(), resolved<Header>(header)] as const,
  );
  const names = new Set([...documented.map(([name]) => name), ...NOT_DOCUMENTED]);
  const faults = [...headers.keys()].filter((name) => !names.has(name)).map((name) => `header ${name}: not documented`);
  for (const [name, header] of documented) {
    const text = headers.get(name);
    if (text === null) {
      if (header.required) faults.push(`header ${name}: missing`);
      continue;
    }
    const value = header.schema.type === 'integer' ? Number(text) : text;
    faults.push(...schemaFaults(header.schema, value).map((fault) => `header ${name} (${text}): ${fault}`));
  }
  return faults;
}

function bodyFaults(response: ResponseObject, { method, headers, body }: Received): string[] {
  const type = headers.get('content-type');
  if (response.content === undefined)
    return body === '' && type === null ? [] : ['a body or a type, but none is documented'];
  const content = type === null ? undefined : response.content[type];
  if (content === undefined) return [`content-type ${type}: not documented`];
  if (method === 'HEAD') return body === '' ? [] : ['a body in response to HEAD'];
  const isChunked = headers.get('transfer-encoding') === 'chunked';
  // The length is that of the compressed body, but the client has decompressed it.
  const isSentAsIs = !isChunked && !headers.has('content-encoding');
  if (isSentAsIs && Number(headers.get('content-length')) !== Buffer.byteLength(body)) return ['content-length: wrong'];
  const value = type === 'application/json' ? JSON.parse(body) : body;
  return schemaFaults(content.schema, value).map((fault) => `body: ${fault}`);
}

function schemaFaults(schema: object, value: unknown): string[] {
  const text = () => JSON.stringify(closed(schema)).replaceAll('"#/components', '"document#/components');
  const validate = validators.get(schema) ?? ajv.compile(JSON.parse(text()));
  validators.set(schema, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
  );
}
