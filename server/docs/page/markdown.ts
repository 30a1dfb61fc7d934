import { type Html, html, raw } from '../../html.ts';
import { codeBlock } from './code.ts';

/** A section of a text. The part before the first heading has no heading. */
export type Section = { heading: string | null; body: Html };

/**
 * Converts the Markdown of `server/docs/openapi/guide.md`: second-level headings, paragraphs, lists, code blocks, and inline
 * elements as in {@link inlineMarkdown}. Anything else stays plain text.
 */
export function readMarkdown(text: string): Section[] {
  return text.split(/^## /m).map((part, index) => {
    if (index === 0) return { heading: null, body: blocks(part) };
    const [heading = ''] = part.split('\n', 1);
    return { heading, body: blocks(part.slice(heading.length)) };
  });
}

/** Converts text with `code`, **bold** and [links](#anchor). */
export function inlineMarkdown(text: string): Html {
  const escaped = Bun.escapeHTML(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replace(/\[([^\]]+)\]\((#[\w-]+|\/[\w./-]*)\)/g, '<a href="$2">$1</a>');
  return raw(escaped);
}

function blocks(text: string): Html {
  const parts = text.split(/^(```\w*\n[\s\S]*?\n```)$|\n{2,}/m).filter((part) => part?.trim());
  return html`${parts.map((part) => block(part.trim()))}`;
}

function block(text: string): Html {
  if (text.startsWith('```')) return codeBlock(html`${text.replace(/^```\w*\n|\n```$/g, '')}`, 'HTTP');
  const lines = text.split('\n');
  if (lines.every((line) => /^\d+\. /.test(line))) {
    return html`<ol>${lines.map((line) => html`<li>${inlineMarkdown(line.replace(/^\d+\. /, ''))}</li>`)}</ol>`;
  }
  if (lines.every((line) => line.startsWith('- '))) {
    return html`<ul>${lines.map((line) => html`<li>${inlineMarkdown(line.slice(2))}</li>`)}</ul>`;
  }
  return html`<p>${inlineMarkdown(text)}</p>`;
}
