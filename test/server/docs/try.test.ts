import { describe, expect, test } from 'bun:test';
import { get, startTestServer } from '../../support/http.ts';

const server = await startTestServer({ variables: { PUBLIC_URL: 'http://docs.example:3000' } });

describe('the page as it is sent', () => {
  test('has a policy without unsafe-*, in which every URL is a path of this server', async () => {
    const policy = (await get(server, '/docs/try')).headers.get('content-security-policy') as string;
    const { publicUrl } = server.deps.config;
    const hash = "'sha256-[\\w+/]{43}='";
    expect(policy.replaceAll(publicUrl, '')).toMatch(
      new RegExp(
        `^default-src 'none'; script-src /docs/try/swagger-ui\\.js ${hash}; style-src /docs/try/swagger-ui\\.css ${hash}; img-src data:; connect-src /api/ /openapi\\.json; frame-src 'none'; worker-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts allow-same-origin$`,
      ),
    );
  });

  test('and other documents are compressed for clients that accept it, and revalidated by their tags', async () => {
    const script = '/docs/try/swagger-ui.js';
    for (const path of ['/docs', '/docs.md', '/docs/try', script, '/docs/try/swagger-ui.css', '/openapi.json']) {
      const zipped = await get(server, path, null, { headers: { 'Accept-Encoding': 'br, gzip;q=0.5' } });
      const plain = await get(server, path, null, { headers: { 'Accept-Encoding': 'gzip;q=0, identity' } });
      expect([path, zipped.headers.get('content-encoding'), plain.headers.get('content-encoding')]).toEqual([
        path,
        'gzip',
        null,
      ]);
      expect(await zipped.text()).toBe(await plain.text());
      const tags = [zipped.headers.get('etag') as string, plain.headers.get('etag') as string];
      expect(tags[0]).not.toBe(tags[1]);
      for (const [i, encoding] of ['gzip', 'identity'].entries()) {
        const headers = { 'If-None-Match': tags[i] as string, 'Accept-Encoding': encoding };
        const unchanged = await get(server, path, null, { headers });
        const got = await get(server, path, null, { headers: { 'Accept-Encoding': encoding } });
        expect(unchanged.status).toBe(304);
        for (const name of ['etag', 'cache-control', 'content-security-policy', 'vary']) {
          expect([name, unchanged.headers.get(name)]).toEqual([name, got.headers.get(name)]);
        }
        const head = await get(server, path, null, { method: 'HEAD', headers: { 'Accept-Encoding': encoding } });
        for (const name of ['etag', 'content-encoding', 'content-length', 'content-type', 'vary']) {
          expect([name, head.headers.get(name)]).toEqual([name, got.headers.get(name)]);
        }
        // A 304 to HEAD has no length other than that of the 200 (RFC 9110, section 8.6).
        const known = await get(server, path, null, { method: 'HEAD', headers });
        expect([known.status, known.headers.get('content-length')]).toEqual([304, got.headers.get('content-length')]);
      }
    }
  });

  test('shows a name with markup as it is written, and runs nothing of it', async () => {
    const name = '</title><script>alert(1)</script>&amp;';
    const named = await startTestServer({ variables: { PUBLIC_NAME: name } });
    const answer = await get(named, '/docs/try');
    expect(answer.headers.get('content-security-policy')).toMatch(/script-src \S+ 'sha256-[\w+/]{43}=';/);
    const page = await answer.text();
    expect(page).not.toContain('<script>alert');
    expect(page.match(/<title>(.*)<\/title>/)?.[1]).toBe(Bun.escapeHTML(`Try it – API documentation – ${name}`));
  });

  test('is at the public URL, whose path may have any character', async () => {
    const prefixed = await startTestServer({ variables: { PUBLIC_URL: 'https://example.org/a;b,c/' } });
    const answer = await get(prefixed, '/docs/try');
    expect(answer.headers.get('content-security-policy')).toContain(
      'script-src https://example.org/a%3Bb%2Cc/docs/try/swagger-ui.js ',
    );
    expect(await answer.text()).toContain('src="/a;b,c/docs/try/swagger-ui.js"');
  });
});
