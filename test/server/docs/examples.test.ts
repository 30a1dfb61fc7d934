import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOperations } from '../../../server/docs/openapi/read.ts';
import { DOCUMENTED_CODES } from '../../../shared/errors.ts';
import { parseRateLimits } from '../../../shared/limits/rate-limit.ts';
import { cleanEnvironment } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { issue } from '../../support/keys.ts';
import { startSampleServer } from '../../support/sample-server.ts';

// What the page shows to be copied is taken from the page, and run.

const { server, keys, document } = await startSampleServer();
const page = await (await get(server, '/docs')).text();

/** The blocks of code with this caption, as somebody copies them; the address is the running server's. */
function blocks(caption: string): string[] {
  const found = page.matchAll(/<figcaption>([^<]*)<\/figcaption><pre[^>]*><code>([\s\S]*?)<\/code>/g);
  return [...found]
    .filter(([, label = '']) => label.startsWith(caption))
    .map(([, , code = '']) =>
      code
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&amp;', '&')
        .replaceAll(server.deps.config.publicUrl, server.url),
    );
}

/** How each language runs many programs one after the other, each from its own text. */
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

describe('what the page shows to be copied works as it stands', () => {
  for (const language of LANGUAGES) {
    const isAbsent = Bun.which(language.program) === null;
    test.skipIf(isAbsent)(`in ${language.caption}, for every request that needs a key`, async () => {
      const [patient = '', ...codes] = blocks(language.caption);
      const operations = readOperations(document).filter(
        ({ operation: { security } }) => 'apiKey' in (security[0] ?? {}),
      );
      expect(codes.length).toBeGreaterThanOrEqual(operations.length);
      const done = await run(language, language.all([patient, ...codes]), keys.both.secret);
      expect({ code: done.code, stderr: done.stderr }).toEqual({ code: 0, stderr: '' });
      for (const sign of ['Ada Lovelace', keys.both.identifier, 'leaderboard', 'missing']) {
        expect(done.stdout).toContain(sign);
      }
    });

    test.skipIf(isAbsent)(`in ${language.caption} a refusal ends it with its status and sentence`, async () => {
      for (const code of blocks(language.caption).slice(0, 1)) {
        const { code: exit, stdout, stderr } = await run(language, code, 'plk_none');
        expect([exit, stdout]).toEqual([1, '']);
        expect(stderr).toContain('401: This API key is not valid.');
      }
    });
  }

  test('the first one waits as long as it is told to, and asks again', async () => {
    const { secret } = await issue(server.deps, { profile: 'Ada' }, { rateLimits: parseRateLimits(['2/1s']) });
    const present = LANGUAGES.filter(({ program }) => Bun.which(program) !== null);
    for (let turn = 0; turn < 2; turn++) await get(server, '/api/lookup/uid/7', secret);
    const running = present.map((language) => {
      const [patient = ''] = blocks(language.caption);
      return run(language, patient.replaceAll('/api/key', '/api/lookup/uid/7'), secret);
    });
    // The clock of the server stands still until the programs have been refused.
    const refused = () => server.log.filter(({ status }) => status === 429).length;
    while (refused() < present.length) await Bun.sleep(10);
    server.deps.clock.advance(2_000);
    for (const done of await Promise.all(running)) {
      expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('Ada Lovelace') });
    }
  }, 30_000);
});

test('every code of a refusal stands once in the table of errors, with what to do', () => {
  const [, table = ''] = /<table class="errors">([\s\S]*?)<\/table>/.exec(page) ?? [];
  const rows = [
    ...table.matchAll(/<tr><th scope="row">\d{3} <code>(\w+)<\/code><\/th><td>[^<]+<q>.+?<\/q><\/td><td>([^<]+)</g),
  ];
  expect(rows.map(([, code = '']) => code).sort()).toEqual([...DOCUMENTED_CODES].sort());
  for (const [, , remedy = ''] of rows) expect(remedy).toMatch(/^[A-Z].+\.$/);
});
