/** HTML in which all text is escaped. */
export type Html = { readonly html: string };

type Part = Html | string | number | readonly Part[];

/** Template tag that escapes strings, inserts {@link Html} as it is, and joins lists. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  let text = '';
  for (const [index, part] of parts.entries()) text += strings[index] + htmlOf(part);
  return { html: text + strings[parts.length] };
}

function htmlOf(part: Part): string {
  if (typeof part === 'string') return Bun.escapeHTML(part);
  if (typeof part === 'number') return String(part);
  if ('html' in part) return part.html;
  return part.map(htmlOf).join('');
}

/** Marks a string as HTML without escaping it. */
export function raw(text: string): Html {
  return { html: text };
}

/**
 * Text that a user wrote. In `<bdi>`, its bidirectional control characters don't affect the text around it. URLs in it
 * don't become links.
 */
export function userText(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}
