/**
 * A part of a message. Each string is one line, except in `code` and `quote`. The caller must
 * remove control characters from texts that others wrote; rendering doesn't.
 */
export type Block =
  | { kind: 'heading'; text: string }
  | { kind: 'paragraph'; text: string }
  | { kind: 'list'; items: readonly string[] }
  /** Labels and their values, one value on each line. */
  | { kind: 'facts'; facts: readonly { label: string; values: readonly string[] }[] }
  /** Text to copy, such as a secret or a command: on its own lines and never wrapped. */
  | { kind: 'code'; text: string }
  /** Text that somebody else wrote, marked as a quotation, so that it can't pass for a sentence of this program. */
  | { kind: 'quote'; text: string }
  /** A URL of this service; URLs that others wrote are never introduced like one. */
  | { kind: 'link'; label: string; url: string };

const WIDTH = 72;

/** Renders a message, with `\n` line endings. Paragraphs, lists, facts and quotes are wrapped at 72 characters. */
export function renderText(blocks: readonly Block[]): string {
  return `${blocks.map(renderBlock).join('\n\n')}\n`;
}

function renderBlock(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `\n${block.text.toUpperCase()}`;
    case 'paragraph':
      return wrap(block.text, WIDTH).join('\n');
    case 'list':
      return block.items.map((item) => indent('- ', '  ', wrap(item, WIDTH - 2))).join('\n');
    case 'facts':
      return block.facts.map((fact) => renderFact(fact.label, fact.values, labelWidth(block.facts))).join('\n');
    case 'code':
      return block.text;
    case 'quote':
      return block.text
        .split('\n')
        .map((line) => indent('> ', '> ', wrap(line, WIDTH - 2)))
        .join('\n');
    case 'link':
      return `${block.label}: ${block.url}`;
  }
}

function labelWidth(facts: readonly { label: string }[]): number {
  return Math.max(...facts.map((fact) => fact.label.length)) + 2;
}

function renderFact(label: string, values: readonly string[], width: number): string {
  const lines = values.flatMap((value) => wrap(value, WIDTH - 2 - width));
  return indent(`  ${label.padEnd(width)}`, ' '.repeat(width + 2), lines);
}

function indent(first: string, further: string, lines: readonly string[]): string {
  return lines.map((line, at) => ((at === 0 ? first : further) + line).trimEnd()).join('\n');
}

/** Breaks a line at spaces; a word that is longer than the width stays whole. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/ +/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
