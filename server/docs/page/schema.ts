import { type Html, html } from '../../html.ts';
import type { Schema } from '../openapi/types.ts';
import { inlineMarkdown } from './markdown.ts';

/** A short description of a type, with links to the schemas that it refers to. */
export function typeText(schema: Schema): Html {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.anyOf !== undefined) return joined(schema.anyOf.map(typeText), ' or ');
  if (schema.enum !== undefined) return joined(schema.enum.map(literal), ' or ');
  if ('const' in schema) return literal(schema.const);
  if (schema.type === 'array') return html`list of ${typeText(schema.items ?? {})}${listBound(schema)}`;
  if (schema.type === 'object') return objectText(schema);
  return html`${[schema.type ?? 'anything'].flat().join(' or ')}${details(schema)}`;
}

function objectText({ properties, additionalProperties }: Schema): Html {
  const fields = Object.entries(properties ?? {});
  if (fields.length > 0) {
    const shown = fields.map(([name, schema]) => html`<code>${name}</code>: ${typeText(schema)}`);
    return html`{ ${joined(shown, ', ')} }`;
  }
  if (typeof additionalProperties !== 'object' || Object.keys(additionalProperties).length === 0) return html`object`;
  return html`map from string to ${typeText(additionalProperties)}`;
}

function details(schema: Schema): Html {
  if (schema.format !== undefined) return html` (${schema.format})`;
  if (schema.type === 'string') return range(schema.minLength, schema.maxLength, ' characters');
  return range(schema.minimum, schema.maximum, '');
}

function listBound({ minItems, maxItems }: Schema): Html {
  if (maxItems === undefined) return html``;
  return minItems === undefined
    ? html`, at most ${String(maxItems)}`
    : html`, ${String(minItems)} to ${String(maxItems)}`;
}

function range(min: unknown, max: unknown, unit: string): Html {
  const hasMax = max !== undefined && max !== Number.MAX_SAFE_INTEGER;
  if (min === undefined && !hasMax) return html``;
  if (!hasMax) return html` (${String(min)} or more${unit})`;
  if (min === undefined) return html` (at most ${String(max)}${unit})`;
  return html` (${String(min)} to ${String(max)}${unit})`;
}

function literal(value: unknown): Html {
  return html`<code>${JSON.stringify(value)}</code>`;
}

function joined(parts: readonly Html[], separator: string): Html {
  return html`${parts.map((part, index) => html`${index === 0 ? '' : separator}${part}`)}`;
}

/** The table of a schema's fields. */
export function schemaTable(schema: Schema): Html {
  if (schema.properties === undefined) return html`<p>${typeText(schema)}</p>`;
  const rows = Object.entries(schema.properties).map(([name, field]) => {
    const isOptional = !(schema.required ?? []).includes(name);
    return html`<tr><th scope="row"><code>${name}</code>${isOptional ? html` <small>optional</small>` : ''}</th><td>${typeText(field)}</td><td>${inlineMarkdown(field.description ?? '')}</td></tr>`;
  });
  return html`<table class="fields"><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table>`;
}
