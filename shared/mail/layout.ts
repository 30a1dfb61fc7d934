/**
 * A message as a list of blocks, so that its text and its HTML say the same. Strings are one line each but for `quote` and `code`;
 * whatever others wrote must have been cleaned before (no control characters), the renderers only escape and indent it.
 */
export type Block =
  | { kind: 'heading'; text: string }
  | { kind: 'paragraph'; text: string }
  | { kind: 'list'; items: readonly string[] }
  /** A label and the values that belong to it, one a line. */
  | { kind: 'facts'; facts: readonly { label: string; values: readonly string[] }[] }
  /** Something to copy: never wrapped, on lines of its own. */
  | { kind: 'code'; text: string }
  /** Somebody's own words, possibly several lines; marked so that they can't pass for ours. */
  | { kind: 'quote'; text: string }
  /** An address of ours; others' addresses are never made links. */
  | { kind: 'link'; label: string; url: string };

const WIDTH = 72;

/** The plain-text part: lines of at most 72 characters wherever words allow it; `\n` line ends. */
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

/** Breaks one line at its spaces; a word that is longer than the width stays whole. */
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
