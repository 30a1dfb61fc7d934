import { type Html, html, raw } from '../../html.ts';
import { resolved, serverUrl } from '../openapi/read.ts';
import type { Example, OpenApi, Operation, Parameter, ResponseObject } from '../openapi/types.ts';
import { codeBlock, curlLine, jsonBlock, shellBlock } from './code.ts';
import { requestWithKey } from './examples.ts';
import { inlineMarkdown } from './markdown.ts';
import { typeText } from './schema.ts';

/** Content collapsed under a heading. A link to `id` opens it, even without scripts; `more` follows the heading. */
export function fold(id: string, heading: string, body: Html, more: Html = html``): Html {
  return html`<article><details><summary><h3>${heading}</h3>${more}</summary><div id="${id}">${body}</div></details></article>`;
}

/** The collapsed section of an operation: description, parameters, examples and responses. `tryIt` is the URL of /docs/try. */
export function operationSection(document: OpenApi, path: string, operation: Operation, tryIt: string): Html {
  const { operationId, summary, description, parameters = [], responses } = operation;
  const permission = operation['x-permission'];
  const [scheme] = operation.security.flatMap(Object.keys);
  const needs = permission ?? { apiKey: 'any key', metricsToken: 'METRICS_TOKEN' }[scheme ?? ''] ?? 'no key';
  const request = html`<span class="request"><span class="pill method">GET</span> <code>${raw(breakable(path))}</code> <span class="pill needs">${needs}</span></span>`;
  // /docs/try has only the operations that need a key.
  const link =
    scheme === 'apiKey'
      ? html`<p class="try"><a class="button second" href="${tryIt}#/${operation.tags[0] ?? ''}/${operationId}">Try it</a></p>`
      : '';
  const body = html`<p>${inlineMarkdown(description)}</p>${link}
${parameterTable(parameters.map((parameter) => resolved(document, parameter)))}
${exampleBlocks(document, path, operation)}
${answerTable(document, responses)}`;
  return fold(operationId, summary, body, request);
}

/** The HTML of a path, with an optional line break after each slash. */
function breakable(path: string): string {
  return Bun.escapeHTML(path).replaceAll('/', '/<wbr>');
}

function parameterTable(parameters: readonly Parameter[]): Html {
  if (parameters.length === 0) return html``;
  const rows = parameters.map(({ name, in: place, required, schema, description }) => {
    const fallback = schema.default === undefined ? '' : html`; default ${String(schema.default)}`;
    return html`<tr><th scope="row"><code>${name}</code> <small>${required ? place : `${place}, optional`}</small></th><td>${typeText(schema)}${fallback}</td><td>${inlineMarkdown(description)}</td></tr>`;
  });
  return html`<h4>Parameters</h4><table class="fields"><thead><tr><th>Name</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table>`;
}

function exampleBlocks(document: OpenApi, path: string, operation: Operation): Html {
  const { content = {} } = resolved(document, operation.responses['200'] as ResponseObject);
  const [kind] = Object.values(content);
  const [scheme] = operation.security.flatMap(Object.keys);
  const variable = scheme === undefined ? null : scheme === 'apiKey' ? 'SECRET' : 'METRICS_TOKEN';
  const url = (target: string) => serverUrl(document) + target;
  const examples = Object.values(kind?.examples ?? {});
  if (examples.length === 0) {
    return html`<h4>Example</h4>${shellBlock(curlLine(url(path), variable))}`;
  }
  const blocks = examples.map((example, index) => {
    const target = example['x-request']?.replace('GET ', '') ?? path;
    const request = scheme === 'apiKey' ? requestWithKey(url(target)) : shellBlock(curlLine(url(target), variable));
    const shown = html`${request}${answerBlock(example)}`;
    if (index === 0) return html`<p class="caption">${example.summary}</p>${shown}`;
    return html`<details><summary>${example.summary}</summary>${shown}</details>`;
  });
  return html`<h4>${examples.length > 1 ? 'Examples' : 'Example'}</h4>${blocks}`;
}

function answerBlock({ value }: Example): Html {
  return typeof value === 'string' ? codeBlock(html`${value.trimEnd()}`, 'Response') : jsonBlock(value, 'Response');
}

function answerTable(document: OpenApi, responses: Operation['responses']): Html {
  const rows = Object.entries(responses).map(([status, reference]) => {
    const { description, content = {}, headers } = resolved(document, reference);
    const [type, kind] = Object.entries(content)[0] ?? [];
    const isPlain = type !== undefined && type !== 'application/json';
    const body = kind === undefined ? html`no body` : isPlain ? html`<code>${type}</code>` : typeText(kind.schema);
    const own = OWN_HEADERS.filter((name) => name in headers);
    const extra = own.length === 0 ? '' : html` <small>${own.join(', ')}</small>`;
    const link = /^[23]/.test(status) ? html`${status}` : html`<a href="#errors">${status}</a>`;
    return html`<tr><th scope="row">${link}</th><td>${body}</td><td>${inlineMarkdown(description)}${extra}</td></tr>`;
  });
  return html`<h4>Responses</h4><table class="answers"><thead><tr><th>Status</th><th>Body</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table>`;
}

/** The headers that only some responses have, listed in their table. */
const OWN_HEADERS = ['Content-Location', 'Link', 'WWW-Authenticate', 'Retry-After', 'Allow'];
