/** HTML in which all text is escaped. */
export type Html = { readonly html: string };

type Part = Html | string | number | readonly Part[];

/** Template tag that escapes strings, inserts {@link Html} as it is, and joins lists. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return { html: strings.reduce((text, string, index) => text + htmlOf(parts[index - 1] ?? '') + string) };
}

function htmlOf(part: Part): string {
  if (typeof part === 'string') return escapeHtml(part);
  if (typeof part === 'number') return String(part);
  if ('html' in part) return part.html;
  return part.map(htmlOf).join('');
}

/** Escapes a string for use between tags or in a double-quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Marks a string as HTML without escaping it. */
export function raw(text: string): Html {
  return { html: text };
}

/** The anchor of a heading: `getting-a-key` for `Getting a key`. */
export function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
