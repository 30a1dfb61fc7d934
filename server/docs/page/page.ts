import type { Config } from '../../../shared/config/config.ts';
import { type FramedPage, foot, framePage, inlineStyles, styleSheet } from '../../frame/frame.ts';
import { type Html, html, raw, slug } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { readOperations, resolved } from '../openapi/read.ts';
import type { Example, Header, OpenApi } from '../openapi/types.ts';
import { TRY_PATHS } from '../try/paths.ts';
import { docsBar } from './bar.ts';
import { firstRequest } from './examples.ts';
import { inlineMarkdown, readMarkdown } from './markdown.ts';
import { fold, operationSection } from './operation.ts';
import script from './page.browser.js' with { type: 'text' };
import style from './page.css' with { type: 'text' };
import { schemaTable, typeText } from './schema.ts';

/** The additions to sections of the guide, by their anchors. */
const AFTER: Record<string, (document: OpenApi) => Html> = {
  authentication: firstRequest,
  permissions: permissionTable,
  errors: errorTable,
};

type Entry = { id: string; text: string; children?: Entry[] };

/** Renders an OpenAPI document as one page. */
export function docsPage(config: Config, document: OpenApi): FramedPage {
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
  const tryIt = config.publicUrl + TRY_PATHS.page;
  const body = html`<a class="skip" href="#content">Skip to the content</a>
${docsBar(config, '/docs')}
<div class="columns">
<nav class="contents" aria-label="Contents"><details><summary>Contents</summary>${contents(entries)}</details></nav>
<main id="content" tabindex="-1">
<section class="hero"><h1>${info.title} API</h1><p class="lead">${info.summary}</p>
<p>Base URL: <code data-copy="the base URL">${servers[0]?.url ?? ''}</code></p>${intro?.body ?? ''}${contactLine(info)}</section>
${guide.map(({ heading, body }) => section(slug(heading ?? ''), heading ?? '', html`${linked(config, body)}${AFTER[slug(heading ?? '')]?.(document) ?? ''}`))}
${groups.map(({ id, name, description, operations }) =>
  section(
    id,
    name,
    html`<p>${inlineMarkdown(description)}</p>${operations.map(({ path, operation }) => operationSection(document, path, operation, tryIt))}`,
  ),
)}
${section('headers', 'Headers', headerTable(components.headers))}
${section(
  'schemas',
  'Schemas',
  html`${Object.entries(components.schemas).map(([name, schema]) => fold(`schema-${name}`, name, schemaTable(schema)))}`,
)}
</main>
</div>
${foot(html``)}`;
  return framePage(config, {
    title: 'API documentation',
    description: info.summary,
    styles: inlineStyles(styleSheet(config, style)),
    scripts: [script],
    body,
  });
}

/** Turns `/developers` into a link if the portal is on. */
function linked(config: Config, body: Html): Html {
  if (!config.developerPlatform) return body;
  const path = html`<code>/developers</code>`.html;
  return raw(body.html.replace(path, `<a href="${publicPath(config, '/developers')}">${path}</a>`));
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

function contactLine({ contact }: OpenApi['info']): Html {
  if (contact === undefined) return html``;
  const [text, address] = 'email' in contact ? [contact.email, `mailto:${contact.email}`] : [contact.url, contact.url];
  return html`<p>Have questions, or need a key? Ask <a href="${address}">${text}</a>.</p>`;
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

/** The table of all refusals by status, with what to do about them. */
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
  return html`<p>Response headers. Those that only some responses have are listed with these responses.</p><table class="fields"><thead><tr><th>Header</th><th>Example</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table>`;
}
