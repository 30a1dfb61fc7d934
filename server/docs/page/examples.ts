import { type Html, html } from '../../html.ts';
import { codeBlock, curlLine, shellBlock } from './code.ts';

// Requests in three languages. JavaScript and Python need nothing that has to be installed, and read the secret from the
// environment variable SECRET, which the first shell line of the page sets.

/** A first request, with what a program should do where it is told to wait, in each language. `base` has no `/api`. */
export function firstRequest(base: string): Html {
  return html`<p>For a first request, read the secret into a variable without showing it, and ask what it may do:</p>
${shellBlock('read -rs SECRET && export SECRET')}${shellBlock(curlLine(`${base}/api/key`, 'SECRET'))}
<p>Programs that this shell starts have the variable too. These wait where they are told to, and need nothing installed:</p>
${codeBlock(html`${patientJavaScript(base)}`, 'JavaScript: Node, Bun or Deno, not a web page')}${codeBlock(html`${patientPython(base)}`, 'Python 3')}`;
}

/** A request with a key, as a line for a shell, and folded away in JavaScript and Python. */
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

function patientJavaScript(base: string): string {
  return `async function ask(path) {
  for (let tries = 0; tries < 5; tries++) {
    const answer = await fetch(${JSON.stringify(base)} + path, {
      headers: { Authorization: \`Bearer \${process.env.SECRET}\` },
    });
    const body = await answer.json();
    if (answer.ok) return body;
    const seconds = answer.headers.get("Retry-After");
    if (seconds === null) throw new Error(\`\${answer.status}: \${body.error}\`);
    await new Promise((done) => setTimeout(done, seconds * 1000));
  }
  throw new Error("Told to wait five times.");
}

console.log(await ask("/api/key"));`;
}

function patientPython(base: string): string {
  return `import json, os, time, urllib.error, urllib.request

def ask(path):
    for tries in range(5):
        request = urllib.request.Request(${JSON.stringify(base)} + path)
        request.add_header("Authorization", "Bearer " + os.environ["SECRET"])
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            seconds = refusal.headers["Retry-After"]
            if seconds is None:
                raise RuntimeError(f"{refusal.code}: {json.load(refusal)['error']}")
            time.sleep(int(seconds))
    raise RuntimeError("Told to wait five times.")

print(ask("/api/key"))`;
}
