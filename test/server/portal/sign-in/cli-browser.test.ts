import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { exchangeCliCode } from '../../../../shared/sign-in/cli-codes.ts';
import { readSignIn } from '../../../../shared/sign-ins/sign-ins.ts';
import { testCertificate } from '../../../support/network/certificates.ts';
import { freePort } from '../../../support/network/proxy.ts';
import { CLIENT } from '../../../support/portal/access.ts';
import { keepCookie, type OpenPage, type Size, startBrowser } from '../../../support/portal/browser.ts';
import { hasChromium } from '../../../support/portal/chromium.ts';
import { cliPath, cliQuery, VERIFIER } from '../../../support/portal/login.ts';
import { expectUsable } from '../../../support/portal/looking.ts';
import { ADA, ownerWorld } from '../../../support/portal/owner-pages.ts';
import { serverOfPages } from '../../../support/portal/pages.ts';
import { countLogins } from '../../../support/portal/sessions-rows.ts';
import { noteSecretsIn, noteToken } from '../../../support/secret-search.ts';

// A login of profilectl in a real Chromium, from the URL that profilectl opens to the code that it receives. The service uses
// HTTPS, and profilectl listens on loopback without it.

const port = freePort();
const OWN = `https://dev.bio.example:${port}`;
const { certFile, keyFile, cert, key } = testCertificate();
const world = await ownerWorld({ PUBLIC_URL: OWN, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile });
await serverOfPages(world, { port });
const sibling = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  tls: { cert, key },
  fetch: () => new Response('<!doctype html><title>Elsewhere</title>', { headers: { 'Content-Type': 'text/html' } }),
});
afterAll(() => sibling.stop(true));
/** Another host of the same site, with pages of its owner. */
const SIBLING = `https://ada.bio.example:${sibling.port}`;
const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

/** Listens like profilectl; `received` resolves to the parameters of its callback. */
function listen() {
  const received = Promise.withResolvers<Record<string, string>>();
  const listener = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => {
      const { pathname, searchParams } = new URL(url);
      if (pathname === '/callback') received.resolve(Object.fromEntries(searchParams));
      return new Response('<!doctype html><title>Done</title><h1>Done</h1>', {
        headers: { 'Content-Type': 'text/html' },
      });
    },
  });
  afterAll(() => listener.stop(true));
  return { received: received.promise, redirectUri: `http://127.0.0.1:${listener.port}/callback` };
}

const heading = (page: Page, text: string) => page.getByRole('heading', { level: 1, name: text }).waitFor();

async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate('document.activeElement.textContent.trim()')) === name) return;
  }
  throw new Error(`Tab does not reach "${name}".`);
}

const NARROW: Size = { width: 320, colorScheme: 'dark', isWithoutScripts: true };
const WIDE: Size = { width: 1280, colorScheme: 'light' };

describe.skipIf(!hasChromium)('profilectl login', () => {
  test('returns its code to profilectl, by keyboard, at 320 pixels and without scripts', async () => {
    const { received, redirectUri } = listen();
    const state = 'a state & more';
    const { page, troubles } = await openPage(OWN + cliPath({ redirect_uri: redirectUri, state }), {
      ...NARROW,
      cookie: world.cookie,
    });
    await heading(page, 'Allow profilectl to access your account?');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    await tabTo(page, 'Allow');
    await page.keyboard.press('Enter');
    const { code = '', ...rest } = await received;
    noteToken(code);
    expect(rest).toEqual({ state, iss: OWN });
    await heading(page, 'Done');
    expect(troubles).toEqual([]);
    const { token } = exchangeCliCode(world.access, { code, redirectUri, verifier: VERIFIER }, CLIENT);
    noteSecretsIn(token);
    expect(readSignIn(world.access, 'profilectl', token)?.person).toMatchObject({ kind: 'owner', profileId: ADA.id });
  }, 60_000);

  test('reports a refusal to profilectl, or shows a code to type, on pages in which axe finds no violations', async () => {
    const { received, redirectUri } = listen();
    const address = OWN + cliPath({ redirect_uri: redirectUri });
    const { page, troubles } = await openPage(address, { ...WIDE, cookie: world.cookie });
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await received).toEqual({ error: 'access_denied', state: 'a state', iss: OWN });
    await heading(page, 'Done');
    await page.goto(OWN + cliPath({ redirect_uri: null, state: null, machine: 'm'.repeat(64) }));
    await expectUsable(page);
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await heading(page, 'Type this code');
    noteSecretsIn((await page.locator('code[data-copy]').textContent()) ?? '');
    await expectUsable(page);
    expect(troubles).toEqual([]);
    // If profilectl no longer listens, the page with its link stays.
    await page.route('http://127.0.0.1:4711/**', (route) => route.abort('aborted'));
    await page.goto(OWN + cliPath());
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await heading(page, 'profilectl has access');
    await expectUsable(page);
    const link = await page.getByRole('link', { name: 'continue' }).getAttribute('href');
    noteToken(new URL(link ?? '').searchParams.get('code') ?? '');
    await page.goto(`${OWN}/developers/sessions`);
    await expectUsable(page);
  }, 60_000);

  test('can’t be allowed by a page of a sibling host, neither by sending the form nor in a frame', async () => {
    const { page } = await openPage(SIBLING, WIDE);
    await keepCookie(page.context(), world.cookie, OWN);
    const codes = () => countLogins(world.access.sessions);
    const before = codes();
    const fields = { ...cliQuery(), shown: `owner ${ADA.id}`, decision: 'allow' };
    const [response] = await Promise.all([
      page.waitForNavigation(),
      page.evaluate(`(() => {
        const form = document.body.appendChild(document.createElement('form'));
        Object.assign(form, { method: 'post', action: ${JSON.stringify(`${OWN}/developers/cli`)} });
        for (const [name, value] of Object.entries(${JSON.stringify(fields)})) {
          form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
        }
        form.submit();
      })()`),
    ]);
    expect([response?.status(), codes()]).toEqual([403, before]);
    await page.goto(SIBLING);
    await page.evaluate(
      `new Promise((done) => {
        const frame = Object.assign(document.createElement('iframe'), { src: ${JSON.stringify(OWN + cliPath())} });
        frame.onload = done;
        document.body.append(frame);
      })`,
    );
    expect(page.frames().map((frame) => frame.url())).toEqual([`${SIBLING}/`, 'chrome-error://chromewebdata/']);
    // The same form, sent from the page itself, allows the login.
    await page.goto(OWN + cliPath({ redirect_uri: null }));
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await heading(page, 'Type this code');
    noteSecretsIn((await page.locator('code[data-copy]').textContent()) ?? '');
    expect(codes()).not.toEqual(before);
  }, 60_000);
});
