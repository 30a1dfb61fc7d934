import { describe, expect, test } from 'bun:test';
import { readOperations } from '../../../server/docs/openapi/read.ts';
import { toMarkdown } from '../../../server/docs/page/to-markdown.ts';
import { servedDocument } from '../../../server/docs/served.ts';
import { get, startTestServer } from '../../support/http.ts';
import { unescaped } from '../../support/portal/pages.ts';

const server = await startTestServer({ variables: { CONTACT: 'help@example.org' } });
const [page, answer] = [await get(server, '/docs'), await get(server, '/docs.md')];
const [html, markdown] = [await page.text(), await answer.text()];

/** The visible words of HTML, without quotation marks, parentheses and semicolons, which `toMarkdown` writes for some tags. */
function wordsOf(text: string): string[] {
  const spaced = text.replace(/<\/?(?:a|code|q|small|span|strong|wbr)\b[^>]*>/g, '').replace(/<[^>]+>/g, ' ');
  return unescaped(spaced)
    .replace(/[“”();]/g, ' ')
    .split(/\s+/)
    .filter(Boolean);
}

describe('/docs.md', () => {
  test('has the words of the page in the same order, without examples in JavaScript and Python', () => {
    const main = html.slice(html.indexOf('<main'), html.indexOf('</main>'));
    const labels = /<figcaption>(?:Shell|HTTP)<\/figcaption>/g;
    const shown = main
      .replace(/<details class="language">[\s\S]*?<\/details>|<p class="try">.*?<\/p>/g, '')
      .replace(labels, '');
    expect(wordsOf(Bun.markdown.html(markdown))).toEqual(wordsOf(shown));
  });

  test('has every operation, in the order of the document', () => {
    const operations = readOperations(servedDocument(server.deps.config));
    const headings = operations.map(({ path, operation }) => `### ${operation.summary}\n\nGET \`${path}\` (`);
    const places = headings.map((heading) => markdown.indexOf(heading));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
  });

  test('is Markdown without links to its own sections, and is linked from the page', () => {
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/markdown; charset=utf-8']);
    expect(markdown.match(/\]\([^)]*\)/g)).toEqual(['](mailto:help@example.org)', '](/developers)']);
    expect(markdown.replace(/^```[\s\S]*?^```/gm, 'code')).not.toMatch(/\n{3}|^ +$/m);
    expect(html).toContain('<a href="/docs.md">Markdown</a>');
  });
});

test('characters that are special in Markdown are preserved', () => {
  const text = 'a <b> & "c" | d';
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const code = `<code>${escaped}</code>`;
  const cells = `<table><thead><tr><th>x</th><th>y</th></tr></thead><tbody><tr><td>${escaped}</td><td>${code}</td></tr></tbody></table>`;
  const figure = `<figure><figcaption>a.py, for x</figcaption><pre><code>${escaped}\n\n\n  e</code></pre></figure>`;
  const made = Bun.markdown.html(toMarkdown(`<main>\n<p>${escaped}</p>\n${cells}\n${figure}\n</main>`));
  const quoted = escaped.replaceAll('"', '&quot;');
  expect(made).toContain(`<p>${quoted}</p>`);
  expect(made).toContain(`<td>${quoted}</td><td><code>${quoted}</code></td>`);
  expect(made).toContain(`<code class="language-py">${quoted}\n\n\n  e\n</code>`);
});
