import { type Html, html } from '../../html.ts';
import { serverUrl } from '../openapi/read.ts';
import type { OpenApi } from '../openapi/types.ts';
import { codeBlock, curlLine, shellBlock } from './code.ts';

// Example requests in three languages. JavaScript and Python use no packages, and read the secret from the environment variable
// SECRET, which the first shell command of the page sets.

/** A first request, and the document's ready-made clients. */
export function firstRequest(document: OpenApi): Html {
  const clients = document['x-clients'] ?? [];
  return html`<h3>Your first request</h3>
<p>Read the secret into a variable without showing it, and look up its key:</p>
${shellBlock('read -rs SECRET && export SECRET')}${shellBlock(curlLine(`${serverUrl(document)}/api/key`, 'SECRET'))}
<p>Programs started from this shell inherit the variable. These clients are single files to copy; they wait for <code>Retry-After</code>, and use conditional requests.</p>
${clients.map(({ name, description, source }) => codeBlock(html`${source.trimEnd()}`, `${name}, ${description}`))}`;
}

/** A request with a key: a shell command, and collapsed JavaScript and Python. */
export function requestWithKey(url: string): Html {
  const folded = [
    ['JavaScript', javaScript(url)],
    ['Python', python(url)],
  ].map(
    ([language = '', code = '']) =>
      html`<details class="language"><summary>${language}</summary>${codeBlock(html`${code}`, language)}</details>`,
  );
  return html`${shellBlock(curlLine(url, 'SECRET'))}${folded}`;
}

function javaScript(url: string): string {
  return `const answer = await fetch(${JSON.stringify(url)}, {
  headers: { Authorization: \`Bearer \${process.env.SECRET}\` },
});
const body = await answer.json();
if (!answer.ok) throw new Error(\`\${answer.status}: \${body.error}\`);
console.log(body);`;
}

function python(url: string): string {
  return `import json, os, urllib.request

request = urllib.request.Request(${JSON.stringify(url)})
request.add_header("Authorization", "Bearer " + os.environ["SECRET"])
with urllib.request.urlopen(request) as answer:
    print(json.load(answer))`;
}
