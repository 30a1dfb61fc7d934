import { type Html, html, raw, slug } from '../../html.ts';
import { readOperations, resolved } from '../openapi/read.ts';
import type { Example, Header, OpenApi } from '../openapi/types.ts';
import { firstRequest } from './examples.ts';
import { inlineMarkdown, readMarkdown } from './markdown.ts';
import { operationSection } from './operation.ts';
import script from './page.browser.js' with { type: 'text' };
import style from './page.css' with { type: 'text' };
import { schemaTable, typeText } from './schema.ts';

/** The page, and the Content-Security-Policy that allows only the page's own style and script. */
export type Page = { html: string; contentSecurityPolicy: string };

/** What the page adds to sections of the guide, by the anchors of the sections. */
const AFTER: Record<string, (document: OpenApi) => Html> = {
  authentication: firstRequest,
  permissions: permissionTable,
  errors: errorTable,
};

/** An entry of the table of contents. */
type Entry = { id: string; text: string; children?: Entry[] };

/** Where the page leads: the paths of the document itself and of this page as Markdown, and the address of `/docs/try`. */
type Links = { document: string; markdown: string; tryIt: string };

/** Shows an OpenAPI document as one page for people. But for its links, everything on the page is taken from the document. */
export function docsPage(document: OpenApi, links: Links): Page {
  const { info, servers, components } = document;
  const [intro, ...guide] = readMarkdown(info.description);
  const groups = document.tags.map(({ name, description }) => {
    const operations = readOperations(document).filter(({ operation }) => operation.tags.includes(name));
    return { id: `tag-${slug(name)}`, name, description, operations };
  });
  const entries: Entry[] = [
    ...guide.map(({ heading }) => ({ id: slug(heading ?? ''), text: heading ?? '' })),
    ...groups.map(({ id, name, operations }) => ({
      id,
      text: name,
      children: operations.map(({ operation }) => ({ id: operation.operationId, text: operation.summary })),
    })),
    { id: 'headers', text: 'Headers' },
    { id: 'schemas', text: 'Schemas' },
  ];
  const body = html`<a class="skip" href="#content">Skip to the content</a>
<header class="top"><p class="brand"><a href="#top">${info.title}</a> <span class="version">${info.version}</span></p>
<span class="links"><a href="${links.tryIt}">Try it</a> <a class="download" href="${links.markdown}">Markdown</a> <a class="download" href="${links.document}">openapi.json</a></span></header>
<div class="columns">
<nav class="contents" aria-label="Contents"><details open><summary>Contents</summary>${contents(entries)}</details></nav>
<main id="content" tabindex="-1">
<section class="hero"><h1>${info.title}</h1><p class="lead">${info.summary}</p>${intro?.body ?? ''}
<p>Base address: <code>${servers[0]?.url ?? ''}</code></p>${contactLine(info)}</section>
${guide.map(({ heading, body }) => section(slug(heading ?? ''), heading ?? '', html`${body}${AFTER[slug(heading ?? '')]?.(document) ?? ''}`))}
${groups.map(({ id, name, description, operations }) =>
  section(
    id,
    name,
    html`<p>${inlineMarkdown(description)}</p>${operations.map(({ path, operation }) => operationSection(document, path, operation))}`,
  ),
)}
${section('headers', 'Headers', headerTable(components.headers))}
${section(
  'schemas',
  'Schemas',
  html`${Object.entries(components.schemas).map(
    ([name, schema]) =>
      html`<article id="schema-${name}"><h3><a class="anchor" href="#schema-${name}">${name}</a></h3>${schemaTable(schema)}</article>`,
  )}`,
)}
</main>
</div>`;
  return {
    html: `<!doctype html>\n${shell(info.title, info.summary, body).html}\n`,
    contentSecurityPolicy: `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

// Without an icon a browser asks for /favicon.ico, which does not exist.
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%234f46e5'/%3E%3Ccircle cx='16' cy='12.5' r='5' fill='white'/%3E%3Cpath d='M6.5 26a9.5 9.5 0 0 1 19 0z' fill='white'/%3E%3C/svg%3E";

function shell(title: string, summary: string, body: Html): Html {
  return html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${summary}">
<title>${title} API</title>
<link rel="icon" href="${raw(ICON)}">
<style>${raw(style)}</style>
</head>
<body id="top">
${body}
<script>${raw(script)}</script>
</body>
</html>`;
}

function hashOf(text: string): string {
  return `'sha256-${Bun.SHA256.hash(text, 'base64')}'`;
}

function section(id: string, heading: string, body: Html): Html {
  return html`<section id="${id}"><h2><a class="anchor" href="#${id}">${heading}</a></h2>${body}</section>`;
}

function contents(entries: readonly Entry[]): Html {
  const items = entries.map(
    ({ id, text, children }) => html`<li><a href="#${id}">${text}</a>${children ? contents(children) : ''}</li>`,
  );
  return html`<ul>${items}</ul>`;
}

/** Whom readers may ask, where the server's configuration says so. */
function contactLine({ contact }: OpenApi['info']): Html {
  if (contact === undefined) return html``;
  const [text, address] = 'email' in contact ? [contact.email, `mailto:${contact.email}`] : [contact.url, contact.url];
  return html`<p>Questions, or in need of a key? Ask <a href="${address}">${text}</a>.</p>`;
}

function permissionTable(document: OpenApi): Html {
  const byPermission = Map.groupBy(readOperations(document), ({ operation }) => operation['x-permission'] ?? null);
  const rows = [...byPermission].flatMap(([permission, items]) => {
    if (permission === null) return [];
    const links = items.map(
      ({ operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`,
    );
    return [html`<tr><th scope="row"><code>${permission}</code></th><td><ul class="plain">${links}</ul></td></tr>`];
  });
  return html`<table><thead><tr><th>Permission</th><th>Lets you</th></tr></thead><tbody>${rows}</tbody></table>`;
}

/** The table of all refusals, each once, by status: when they come, and what to do about them. */
function errorTable(document: OpenApi): Html {
  const operations = readOperations(document).flatMap(({ operation }) => Object.entries(operation.responses));
  const others = Object.entries(document['x-other-requests'].responses);
  const found = new Map<string, { status: string; example: Example }>();
  for (const [status, item] of [...operations, ...others].sort(([one], [other]) => Number(one) - Number(other))) {
    const { content = {} } = resolved(document, item);
    if (/^[23]/.test(status)) continue;
    for (const [code, example] of Object.entries(content['application/json']?.examples ?? {})) {
      if (!found.has(code)) found.set(code, { status, example });
    }
  }
  const rows = [...found].map(
    ([code, { status, example }]) =>
      html`<tr><th scope="row">${status} <code>${code}</code></th><td>${example.summary} <q>${(example.value as { error: string }).error}</q></td><td>${example['x-remedy'] ?? ''}</td></tr>`,
  );
  return html`<table class="errors"><thead><tr><th>Status and <code>X-Error-Code</code></th><th>When, and what it says</th><th>What to do</th></tr></thead><tbody>${rows}</tbody></table>`;
}

function headerTable(headers: Record<string, Header>): Html {
  const rows = Object.entries(headers)
    .filter(([name]) => !name.startsWith('Optional-'))
    .map(([name, { description, schema, example }]) => {
      const value = example ?? schema.const ?? schema.enum?.[0];
      const shown = value === undefined ? typeText(schema) : html`<code>${String(value)}</code>`;
      const isVariant = /^(Private|Public|No)-/.test(name);
      return html`<tr><th scope="row"><code>${isVariant ? name.replace(/^\w+-/, '') : name}</code></th><td>${shown}</td><td>${inlineMarkdown(description)}</td></tr>`;
    });
  return html`<p>Of answers; those that not every answer has are named where they occur.</p><table class="fields"><thead><tr><th>Header</th><th>Example</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table>`;
}
