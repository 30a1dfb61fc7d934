import { type Html, html, raw } from '../../html.ts';

/** A code block with a caption. The page's script adds a copy button. */
export function codeBlock(code: Html, label: string): Html {
  return html`<figure class="code"><figcaption>${label}</figcaption><pre tabindex="0"><code>${code}</code></pre></figure>`;
}

/** A shell command. */
export function shellBlock(line: string): Html {
  return codeBlock(html`${line}`, 'Shell');
}

/** The curl command of a request. `variable` is the shell variable with the key or token; null if none is needed. */
export function curlLine(url: string, variable: string | null): string {
  // Within single quotes, only a single quote is special to the shell, so it is percent-encoded.
  const word = /[^\w:/.%-]/.test(url) ? `'${url.replaceAll("'", '%27')}'` : url;
  return variable === null ? `curl -sS ${word}` : `curl -sS -H "Authorization: Bearer $${variable}" ${word}`;
}

/** Syntax-highlighted JSON; values that don't fit on one line are split. */
export function jsonBlock(value: unknown, label: string): Html {
  return codeBlock(raw(colour(layOut(value, ''))), label);
}

const WIDTH = 72;

function layOut(value: unknown, indent: string): string {
  const short = oneLine(value);
  if (typeof value !== 'object' || value === null || indent.length + short.length <= WIDTH) return short;
  const inner = `${indent}  `;
  const items = Array.isArray(value)
    ? value.map((item) => inner + layOut(item, inner))
    : Object.entries(value).map(([name, item]) => `${inner}${JSON.stringify(name)}: ${layOut(item, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${items.join(',\n')}\n${indent}${close}`;
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${oneLine(item)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b/gi;

function colour(text: string): string {
  let done = '';
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [token, string, colon, word] = match;
    done += Bun.escapeHTML(text.slice(end, match.index));
    end = match.index + token.length;
    if (string === undefined) done += `<span class="${word === undefined ? 'number' : 'word'}">${token}</span>`;
    else
      done += `<span class="${colon === undefined ? 'string' : 'name'}">${Bun.escapeHTML(string)}</span>${colon ?? ''}`;
  }
  return done + Bun.escapeHTML(text.slice(end));
}
