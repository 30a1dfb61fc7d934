import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment } from '../../support/cli.ts';
import { unescaped } from '../../support/forms.ts';
import { get, startTestServer } from '../../support/http.ts';
import { prepare } from '../../support/keys.ts';

const server = await startTestServer();
const secret = await prepare(server.deps);
const textOf = async (path: string, from = server) => await (await get(from, path)).text();

test('/docs is a page that loads and runs nothing but its own style sheet and script', async () => {
  const answer = await get(server, '/docs');
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(answer.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'self'; script-src 'sha256-[\w+/]{43}='; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  );
  expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
  const page = await answer.text();
  expect(page).not.toMatch(
    /\ssrc=|@import|url\(|<link(?! rel="(?:icon" href="data:|stylesheet" href="\/docs\/style))|\sstyle=|\son\w+=/,
  );
  const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const [, hash] of page.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(hash);
});

test('code in /docs is coloured by classes, and reads as in the guide', async () => {
  const page = await textOf('/docs');
  expect(page).toContain('<span class="word">const</span> headers');
  const shown = [...page.matchAll(/<pre[^>]*><code[^>]*>([\s\S]*?)<\/code>/g)].map(([, code = '']) =>
    unescaped(code.replace(/<[^>]+>/g, '')),
  );
  expect(shown).toEqual(
    [...(await textOf('/docs.md')).matchAll(/^```\w+\n([\s\S]*?)^```/gm)].map(([, code = '']) => code),
  );
});

test('/docs.md has the guide, without links to documents that are not served', async () => {
  const answer = await get(server, '/docs.md');
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/markdown; charset=utf-8']);
  const links = [...(await answer.text()).matchAll(/\]\(([^)]*)\)/g)].map(([, to]) => to);
  expect(links).toEqual(['/openapi.json', '/docs/try', '/developers', '#many-profiles-at-once']);
});

test('both have the name, the URL, the limits and the contact of the installation', async () => {
  const variables = {
    PUBLIC_NAME: 'Link<hive> *&* [x](javascript:x)',
    PUBLIC_URL: "https://example.org/it's/",
    DEFAULT_RATE_LIMITS: '7/1h',
    CONTACT: 'help@example.org',
    DEVELOPER_PLATFORM: 'off',
  };
  const named = await startTestServer({ variables });
  const [page, markdown] = [await textOf('/docs', named), await textOf('/docs.md', named)];
  expect(page).toContain('The Link&lt;hive&gt; *&amp;* [x](javascript:x) API</h1>');
  expect(page).toContain('<a href="mailto:help@example.org">help@example.org</a>');
  expect(page).not.toContain('href="/developers');
  for (const text of [page, markdown]) {
    expect(text).toContain('https://example.org/it%27s/api/lookup/username/Ada');
    expect(text).toContain('7 requests per hour');
    expect(text).not.toMatch(/127\.0\.0\.1|5000 requests|<!--/);
  }
});

test('/ redirects to /docs, after the public prefix', async () => {
  for (const method of ['GET', 'HEAD']) {
    const answer = await get(server, '/', null, { method });
    expect([answer.status, answer.headers.get('location'), await answer.text()]).toEqual([302, '/docs', '']);
  }
  const prefixed = await startTestServer({ variables: { PUBLIC_URL: 'https://example.org/profiles/' } });
  expect((await get(prefixed, '/')).headers.get('location')).toBe('/profiles/docs');
  expect(await textOf('/docs', prefixed)).toContain('href="/profiles/openapi.json"');
});

describe('the examples run as they are', () => {
  const programs = { sh: 'sh', ts: process.execPath, python: 'python3' };
  for (const [language, program] of Object.entries(programs)) {
    const isAbsent = [program, language === 'sh' ? 'curl' : program].some((one) => Bun.which(one) === null);
    test.skipIf(isAbsent)(
      language,
      async () => {
        const markdown = await textOf('/docs.md');
        const blocks = [...markdown.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))];
        const codes = blocks.map(([, code = '']) => code).filter((code) => !code.includes('npx'));
        expect(codes.length).toBeGreaterThan(0);
        const publicUrl = server.deps.config.publicUrl;
        for (const code of codes) {
          const file = join(server.deps.folder, `example.${language}`);
          writeFileSync(file, code.replaceAll(publicUrl, server.url));
          const env = { ...cleanEnvironment({ SECRET: secret, NO_PROXY: '*' }) };
          const child = Bun.spawn([program, file], { env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
          const [stdout, stderr] = await Promise.all([
            new Response(child.stdout).text(),
            new Response(child.stderr).text(),
          ]);
          expect([await child.exited, stderr]).toEqual([0, '']);
          expect(stdout).toContain('Ada');
        }
      },
      30_000,
    );
  }
});
