import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOperations } from '../../../server/docs/openapi/read.ts';
import { DOCUMENTED_CODES } from '../../../shared/errors.ts';
import { cleanEnvironment, PROJECT } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { startSampleServer } from '../../support/machine/sample-server.ts';
import { unescaped } from '../../support/portal/pages.ts';

// Extracts the code examples from the page, and runs them.

const { server, keys, document } = await startSampleServer();
const page = await (await get(server, '/docs')).text();

/** The code blocks with this caption, as copied from the page, with the URL of the running server. */
function blocks(caption: string): string[] {
  const found = page.matchAll(/<figcaption>([^<]*)<\/figcaption><pre[^>]*><code>([\s\S]*?)<\/code>/g);
  return [...found]
    .filter(([, label = '']) => label.startsWith(caption))
    .map(([, , code = '']) => unescaped(code).replaceAll(server.deps.config.publicUrl, server.url));
}

/** How each language runs several programs one after another. */
const LANGUAGES = [
  {
    caption: 'JavaScript',
    program: Bun.which('node') ?? process.execPath,
    all: (codes: string[]) => codes.map((code) => `await (async () => {\n${code}\n})();`).join('\n'),
  },
  {
    caption: 'Python',
    program: 'python3',
    all: (codes: string[]) => codes.map((code) => `exec(${JSON.stringify(code)}, {})`).join('\n'),
  },
];

async function run({ caption, program }: (typeof LANGUAGES)[number], code: string, secret: string) {
  const file = join(server.deps.folder, `examples.${caption}.mjs`);
  writeFileSync(file, code);
  const env = cleanEnvironment({ SECRET: secret, NO_PROXY: '*' });
  const child = Bun.spawn([program, file], { env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

describe('the examples on the page work as they are', () => {
  for (const language of LANGUAGES) {
    const isAbsent = Bun.which(language.program) === null;
    test.skipIf(isAbsent)(`in ${language.caption}, for every request that needs a key`, async () => {
      const codes = blocks(language.caption);
      const operations = readOperations(document).filter(
        ({ operation: { security } }) => 'apiKey' in (security[0] ?? {}),
      );
      expect(codes.length).toBeGreaterThanOrEqual(operations.length);
      const done = await run(language, language.all(codes), keys.both.secret);
      expect({ code: done.code, stderr: done.stderr }).toEqual({ code: 0, stderr: '' });
      for (const sign of ['Ada Lovelace', keys.both.identifier, 'leaderboard', 'missing']) {
        expect(done.stdout).toContain(sign);
      }
    });
  }

  test('the clients are those in docs/clients/, with the URL of the server', () => {
    for (const name of ['profile-lookup.ts', 'profile_lookup.py']) {
      const file = readFileSync(join(PROJECT, 'docs/clients', name), 'utf8').trimEnd();
      expect(file).toContain('"http://127.0.0.1:3000/api"');
      expect(blocks(name)).toEqual([file.replace('http://127.0.0.1:3000', server.url)]);
    }
  });
});

test('the table of errors has every code once, with what to do', () => {
  const [, table = ''] = /<table class="errors">([\s\S]*?)<\/table>/.exec(page) ?? [];
  const rows = [
    ...table.matchAll(/<tr><th scope="row">\d{3} <code>(\w+)<\/code><\/th><td>[^<]+<q>.+?<\/q><\/td><td>([^<]+)</g),
  ];
  expect(rows.map(([, code = '']) => code).sort()).toEqual([...DOCUMENTED_CODES].sort());
  for (const [, , remedy = ''] of rows) expect(remedy).toMatch(/^[A-Z].+\.$/);
});
