import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTestServer } from '../support/http.ts';
import {
  CLIENT_ADDRESS,
  type Forwarded,
  programPath,
  SHORT_WAIT,
  startCaddy,
  startNginx,
  through,
} from '../support/network/proxy.ts';
import { insertProfile } from '../support/profiles.ts';

// The pages under /developers behind the two proxies of `deploy/`; skipped and listed if these are not installed.

const SPOOFED = { 'X-Forwarded-For': '203.0.113.5', 'X-Forwarded-Proto': 'http', Forwarded: 'for=203.0.113.5' };

/** The headers of a form sent by a page of this site. */
const OWN_PAGE = { 'Sec-Fetch-Site': 'same-origin' };

// A server with pages, and an owner for each proxy in front of it.
const server = await startTestServer({
  variables: { TRUSTED_PROXIES: '127.0.0.1', PUBLIC_URL: 'https://localhost' },
});
for (const [id, username] of ['caddy', 'nginx'].entries()) {
  insertProfile(server.deps.db, { id: id + 1, username, email: `${username}@example.org` });
}
const mails = join(server.deps.folder, 'mail');

/** Waits for the code that is mailed to this owner. */
async function codeOf(username: string): Promise<string> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const names = existsSync(mails) ? readdirSync(mails).filter((name) => name.endsWith('.eml')) : [];
    const texts = names.map((name) => readFileSync(join(mails, name), 'utf8'));
    const own = texts.find((text) => text.includes(`To: ${username}@example.org`)) ?? '';
    const [code] = /^[0-9A-Z]{4}-[0-9A-Z]{4}$/m.exec(own) ?? [];
    if (code !== undefined || performance.now() > deadline) return code ?? '';
    await Bun.sleep(20);
  }
}

const setCookies = ({ headers }: Forwarded) => (headers['set-cookie'] ?? []) as string[];

/** The cookies that a response sets, as a browser sends them back. */
const cookiesOf = (answer: Forwarded) =>
  setCookies(answer)
    .map((value) => value.split(';', 1)[0])
    .join('; ');

for (const [name, start] of [
  ['caddy', startCaddy],
  ['nginx', startNginx],
] as const) {
  describe.skipIf(programPath(name) === null)(name, () => {
    test('an owner signs in over HTTPS, with cookies for this host only, and sees the IP address they came from', async () => {
      const proxy = await start(server.port);
      const ask = (path: string, cookie = '', form: Record<string, string> | null = null) =>
        through(
          proxy,
          path,
          { ...SPOOFED, ...(form && OWN_PAGE), Cookie: cookie },
          'https',
          form === null ? 'GET' : { form },
        );
      const shown = await ask('/developers/sign-in');
      expect(shown).toMatchObject({
        status: 200,
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': expect.stringContaining("form-action 'self'"),
          'cache-control': 'no-store',
          'referrer-policy': 'same-origin',
          'strict-transport-security': 'max-age=63072000',
        },
      });
      const asked = await ask('/developers/sign-in', '', { name, address: `${name}@example.org`, next: '' });
      expect(asked).toMatchObject({ status: 303, headers: { location: '/developers/sign-in/code' } });
      const form = { code: await codeOf(name), next: '' };
      const entered = await ask('/developers/sign-in/code', cookiesOf(asked), form);
      expect(entered.status).toBe(303);
      for (const cookie of [...setCookies(asked), ...setCookies(entered)]) {
        expect(cookie).toMatch(/^__Host-[\w-]+=[\w-]*; Path=\/; Max-Age=\d+; Secure; HttpOnly; SameSite=Lax$/);
      }
      const sessions = await ask('/developers/sessions', cookiesOf(entered));
      expect([sessions.status, sessions.body.toString()]).toEqual([200, expect.stringContaining(CLIENT_ADDRESS)]);
      // A cookie without its prefix could have been set by another host of the same domain.
      const planted = await ask('/developers/sessions', cookiesOf(entered).replaceAll('__Host-', ''));
      expect(planted.status).toBe(303);
    });

    test('while the server is down, a page says so and what to do, also for a form; everything else gets JSON', async () => {
      const gone = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('') });
      const proxy = await start(gone.port ?? 0, SHORT_WAIT[name]);
      await gone.stop(true);
      const form = { form: { name: 'ada' } };
      for (const [path, sent] of [
        ['/developers', 'GET'],
        ['/developers/keys/k7Qm2XaB?x=1', 'GET'],
        ['/community/developers/sign-in', form],
      ] as const) {
        const { status, headers, body } = await through(proxy, path, {}, 'https', sent);
        expect({ status, headers }).toMatchObject({
          status: 503,
          headers: {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
            'strict-transport-security': 'max-age=63072000',
            'cache-control': 'no-store',
            'retry-after': '5',
            'x-content-type-options': 'nosniff',
          },
        });
        expect(body.toString()).toContain("<p>The service can't be reached right now; try again.</p>");
        expect(body.toString()).toContain('check before you send it again');
      }
      for (const path of ['/developersx', '/manage/v1/me']) {
        expect((await through(proxy, path)).headers['content-type']).toStartWith('application/json');
      }
    });

    test('a form of 60 KB arrives, a longer one gets the server’s own error page, and one from another site is refused', async () => {
      const proxy = await start(server.port);
      const send = (length: number, headers: Record<string, string> = OWN_PAGE) =>
        through(proxy, '/developers/sign-in', headers, 'https', {
          form: { name: 'x'.repeat(length), address: '', next: '' },
        });
      expect((await send(60_000)).headers).toMatchObject({ 'x-error-code': 'refused_form' });
      expect(await send(200_000)).toMatchObject({
        status: 413,
        headers: { 'x-error-code': 'form_too_long', 'content-type': 'text/html; charset=utf-8' },
      });
      // nginx refuses this one itself, with the same sentence.
      const huge = await send(1_100_000);
      expect(huge).toMatchObject({ status: 413, headers: { 'content-type': 'text/html; charset=utf-8' } });
      expect(huge.body.toString()).toContain(
        'The form is longer than 64 KiB; nothing was done. Shorten what you typed.',
      );
      expect(await send(1, { 'Sec-Fetch-Site': 'same-site' })).toMatchObject({
        status: 403,
        headers: { 'x-error-code': 'cross_site' },
      });
    });
  });
}
