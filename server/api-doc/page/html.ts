/** A text that is HTML already. */
export type Html = { readonly html: string };

type Part = Html | string | number | readonly Part[];

/** HTML from a template: what is put in is escaped, unless it is HTML already; lists are joined. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return { html: strings.reduce((text, string, index) => text + htmlOf(parts[index - 1] ?? '') + string) };
}

/** The text of a part as HTML. */
function htmlOf(part: Part): string {
  if (typeof part === 'string') return escapeHtml(part);
  if (typeof part === 'number') return String(part);
  if ('html' in part) return part.html;
  return part.map(htmlOf).join('');
}

/** A text safe between tags and in double-quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** HTML of this text as it stands. */
export function raw(text: string): Html {
  return { html: text };
}

/** The anchor of a heading: `Asking only for what has changed` is `asking-only-for-what-has-changed`. */
export function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
