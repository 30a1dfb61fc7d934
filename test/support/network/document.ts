import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { readOperations, resolved } from '../../../server/docs/openapi/read.ts';
import type { Header, OpenApi, Operation, ResponseObject } from '../../../server/docs/openapi/types.ts';
import { servedDocument } from '../../../server/docs/served.ts';

// Checks that the status, headers and body of responses are exactly as an OpenAPI document says. The helpers with which tests
// send requests, such as `get` and `call`, do this for every response.

/** A received response, and its request. */
export type Received = { method: string; target: string; status: number; headers: Headers; body: string };

/** The connection's own headers (RFC 9110, section 7.6.1), and the body's type, which is the content's key. */
const NOT_DOCUMENTED = ['connection', 'keep-alive', 'transfer-encoding', 'content-type'];

/** A document, with the validators made from it. */
export type Held = { document: OpenApi; ajv: Ajv2020; validators: Map<object, ValidateFunction> };

const byPublicUrl = new Map<string, Held>();
const publicUrls = new Map<string, string>();

/** Records the public base URL of a server, on which its document depends. */
export function knowServer(port: number, publicUrl: string): void {
  publicUrls.set(String(port), publicUrl);
}

/** Prepares the comparison of responses with a document. */
export function hold(document: OpenApi): Held {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'document');
  return { document, ajv, validators: new Map() };
}

/** The differences between a received response and a documented one. */
export function responseFaults(held: Held, response: ResponseObject, received: Received): string[] {
  return [...headerFaults(held, response, received), ...bodyFaults(held, response, received)];
}

function heldTo(origin: string): Held {
  const publicUrl = publicUrls.get(new URL(origin).port) ?? 'http://127.0.0.1:3000';
  const known = byPublicUrl.get(publicUrl);
  if (known !== undefined) return known;
  const held = hold(servedDocument({ publicUrl, publicName: 'Profile Lookup', contact: null }));
  byPublicUrl.set(publicUrl, held);
  return held;
}

/** Throws if a response of the server at this origin doesn't match its document. */
export function checkAnswer(origin: string, received: Received): void {
  const held = heldTo(origin);
  const faults = isRuntimeAnswer(received) ? [] : faultsOf(held, received);
  if (faults.length === 0) return;
  const { method, target, status } = received;
  throw new Error(`${method} ${target.slice(0, 200)} → ${status} is not as documented:\n${faults.join('\n')}`);
}

/** The runtime's own response to malformed HTTP, or none at all. */
function isRuntimeAnswer({ status, headers, body }: Received): boolean {
  return [0, 400, 413, 431, 505].includes(status) && body === '' && !headers.has('content-type');
}

function faultsOf(held: Held, received: Received): string[] {
  const response = documentedAnswer(held.document, received);
  if (response === undefined) return ['the status is not documented'];
  return responseFaults(held, response, received);
}

/** The documented response to this request with this status. */
export function documentedAnswer(
  document: OpenApi,
  { method, target, status }: Pick<Received, 'method' | 'target' | 'status'>,
): ResponseObject | undefined {
  const operation = method === 'GET' || method === 'HEAD' ? operationAt(document, target) : undefined;
  const response = (operation?.responses ?? document['x-other-requests'].responses)[status];
  return response && resolved(document, response);
}

function operationAt(document: OpenApi, target: string): Operation | undefined {
  // On the wire, a number sign starts no fragment, and two slashes start no authority.
  const url = URL.parse((target.startsWith('/') ? `http://h${target}` : target).replaceAll('#', '%23'));
  const patterns = PATTERNS.get(document) ?? patternsOf(document);
  PATTERNS.set(document, patterns);
  return patterns.find(({ pattern }) => pattern.test(url?.pathname ?? ''))?.operation;
}

/** The operations of each document by the pattern of their paths, as thousands of responses are compared with them. */
const PATTERNS = new WeakMap<OpenApi, ReturnType<typeof patternsOf>>();

function patternsOf(document: OpenApi) {
  return readOperations(document).map(({ path, operation }) => ({
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    operation,
  }));
}

function headerFaults(held: Held, response: ResponseObject, { headers }: Received): string[] {
  const documented = Object.entries(response.headers).map(
    ([name, header]) => [name.toLowerCase(), resolved<Header>(held.document, header)] as const,
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
    faults.push(...schemaFaults(held, header.schema, value).map((fault) => `header ${name} (${text}): ${fault}`));
  }
  return faults;
}

function bodyFaults(held: Held, response: ResponseObject, { method, headers, body }: Received): string[] {
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
  return schemaFaults(held, content.schema, value).map((fault) => `body: ${fault}`);
}

function schemaFaults({ ajv, validators }: Held, schema: object, value: unknown): string[] {
  const text = () => JSON.stringify(schema).replaceAll('"#/components', '"document#/components');
  const validate = validators.get(schema) ?? ajv.compile(JSON.parse(text()));
  validators.set(schema, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
  );
}
