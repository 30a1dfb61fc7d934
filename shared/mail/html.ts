import type { Block } from './layout.ts';

// No scripts, remote resources or images, which many mail programs block. Some also strip the style sheet; the elements (pre,
// table, blockquote) are readable without it.
const STYLE = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
body { margin: 0; padding: 24px 16px; background: #ffffff; color: #1b1f24;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { display: block; max-width: 600px; margin: 0 auto; }
h1 { font-size: 22px; line-height: 1.3; margin: 0 0 16px; }
h2 { font-size: 17px; line-height: 1.3; margin: 28px 0 8px; }
p, ul, table, pre, blockquote { margin: 0 0 16px; }
ul { padding-left: 22px; }
li { margin-bottom: 4px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 6px 0;
  border-bottom: 1px solid #d5d9de; overflow-wrap: anywhere; }
th { font-weight: normal; color: #57606a; padding-right: 16px; width: 96px; }
pre { font: 14px/1.5 ui-monospace, Menlo, Consolas, monospace; padding: 12px;
  background: #f1f3f5; border: 1px solid #d5d9de; border-radius: 6px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
blockquote { padding: 4px 0 4px 14px; border-left: 4px solid #b8c0c8;
  white-space: pre-wrap; overflow-wrap: anywhere; }
a { color: #0b5cad; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) {
  body { background: #16191d; color: #e6e9ec; }
  th { color: #a3acb5; }
  th, td { border-color: #363c43; }
  pre { background: #22272d; border-color: #3d444c; }
  blockquote { border-color: #55606b; }
  a { color: #7db8f5; }
}
`;

/** Renders the HTML part of a message: a self-contained page with `\n` line endings. All texts are escaped. */
export function renderHtml(title: string, blocks: readonly Block[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no">
<title>${Bun.escapeHTML(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${Bun.escapeHTML(title)}</h1>
${blocks.map(renderBlock).join('\n')}
</main>
</body>
</html>
`;
}

function renderBlock(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `<h2>${Bun.escapeHTML(block.text)}</h2>`;
    case 'paragraph':
      return `<p>${Bun.escapeHTML(block.text)}</p>`;
    case 'list':
      return `<ul>\n${block.items.map((item) => `<li>${Bun.escapeHTML(item)}</li>`).join('\n')}\n</ul>`;
    case 'facts':
      return `<table role="presentation">\n${block.facts.map(renderFact).join('\n')}\n</table>`;
    case 'code':
      // HTML ignores the line end after <pre>; in the source, it leaves the secret on its own line.
      return `<pre>\n${Bun.escapeHTML(block.text)}\n</pre>`;
    case 'quote':
      return `<blockquote>${Bun.escapeHTML(block.text)}</blockquote>`;
    case 'link':
      return `<p>${Bun.escapeHTML(block.label)}: <a href="${Bun.escapeHTML(block.url)}">${Bun.escapeHTML(block.url)}</a></p>`;
  }
}

function renderFact(fact: { label: string; values: readonly string[] }): string {
  return `<tr><th scope="row">${Bun.escapeHTML(fact.label)}</th>\n<td>${fact.values.map((value) => Bun.escapeHTML(value)).join('<br>\n')}</td></tr>`;
}
