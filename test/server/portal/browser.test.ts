import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { keepCookie, type OpenPage, startBrowser } from '../../support/browser.ts';
import { hasChromium } from '../../support/chromium.ts';
import { freePort, testCertificate } from '../../support/network.ts';
import { ownerWorld, serverOfPages } from '../../support/pages.ts';
import { countSignInRows } from '../../support/people.ts';

// The pages in a real Chromium, which sends Origin and Sec-Fetch-Site itself. Users of the platform have other hosts of the
// service's site.

/** A server with owners whose codes the test knows. */
async function worldAt(variables: Record<string, string>, port = 0) {
  const world = await ownerWorld(variables);
  return { world, server: await serverOfPages(world, { port }), lastCode: world.lastCode };
}

const { certFile, keyFile, cert, key } = testCertificate();
const port = freePort();
const OWN = `https://dev.bio.example:${port}`;
const secure = await worldAt({ PUBLIC_URL: OWN, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile }, port);
const plain = await worldAt({});
// Serves an empty page, in which the test does what a foreign page could do.
const elsewhere = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  tls: { cert, key },
  fetch: () => new Response('<!doctype html><title>Elsewhere</title>', { headers: { 'Content-Type': 'text/html' } }),
});
afterAll(() => elsewhere.stop(true));

const SIBLING = `https://ada.bio.example:${elsewhere.port}`;
const FOREIGN = `https://evil.example:${elsewhere.port}`;

const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

const WIDE = { width: 1280, colorScheme: 'light' } as const;

/** Sends a form from the open page, as its script would, and returns the status of the response. */
async function submit(page: Page, action: string): Promise<number> {
  const [response] = await Promise.all([
    page.waitForNavigation(),
    page.evaluate(`document.body.innerHTML = '<form method="post" action="${action}">'; document.forms[0].submit()`),
  ]);
  return response?.status() ?? 0;
}

/** In the page: sends a form to each URL, each into a separate frame, and resolves when all frames have loaded. */
const SUBMIT_INTO_FRAMES = `(addresses) => Promise.all(addresses.map((address, at) => new Promise((resolve) => {
  const frame = Object.assign(document.createElement('iframe'), { name: 'frame' + at });
  const form = Object.assign(document.createElement('form'), { method: 'post', action: address, target: frame.name });
  document.body.append(frame, form);
  frame.addEventListener('load', resolve, { once: true });
  form.submit();
}))).then(() => undefined)`;

/** In the page: sends a POST to each URL, whose response the page can't read. */
const SEND_ALL = `(addresses) => Promise.all(addresses.map((address) =>
  fetch(address, { method: 'POST', mode: 'no-cors', credentials: 'include', body: new URLSearchParams('a=1') })
    .catch(() => undefined))).then(() => undefined)`;

describe.skipIf(!hasChromium)('no page of another origin changes anything', () => {
  const livingSessions = () => countSignInRows(secure.world.access.db);
  // Other tests try all forms with the headers that a browser sends.
  const forms = [
    '/developers/sign-out',
    '/developers/sessions/end-all',
    '/developers/admin/decide',
    '/developers/none',
  ];

  test('from a sibling host or a foreign one, by form and by fetch, with and without a session', async () => {
    const { page } = await openPage('about:blank', WIDE);
    const { cookie } = secure.world;
    const before = livingSessions();
    for (const origin of [SIBLING, FOREIGN]) {
      await page.context().clearCookies();
      await page.goto(origin);
      expect([origin, await submit(page, `${OWN}/developers/sign-in`)]).toEqual([origin, 403]);
      await keepCookie(page.context(), cookie, OWN);
      const sent = forms.map((path) => OWN + path);
      for (const send of [SUBMIT_INTO_FRAMES, SEND_ALL]) {
        await page.goto(origin);
        const asked = secure.server.log.length;
        await page.evaluate(`(${send})(${JSON.stringify(sent)})`);
        // The page can't read the statuses; the log has them.
        const answered = secure.server.log.slice(asked).filter(({ method }) => method === 'POST');
        expect(answered.map(({ status }) => status)).toEqual(Array(sent.length).fill(403));
      }
      expect(livingSessions()).toEqual(before);
    }
    // A form of our own page works.
    await page.goto(`${OWN}/developers/sessions`);
    await page.getByText('ada', { exact: true }).click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByText('You are signed out.').waitFor();
    expect(livingSessions()).toBe(0);
  }, 90_000);
});

describe.skipIf(!hasChromium)('the pages of visitors', () => {
  test('by keyboard alone and without scripts, an owner corrects a refused form, signs in, signs out and reports a secret', async () => {
    const { page } = await openPage(`${plain.server.url}/developers`, { ...WIDE, isWithoutScripts: true });
    const { keyboard } = page;
    await keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Skip to the content');
    await keyboard.press('Enter');
    await keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Sign in');
    await keyboard.press('Enter');
    await page.getByLabel('Username').focus();
    await keyboard.type('Ädä <b>');
    await keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await page.title()).toBe('Error: Sign in – Profile Lookup');
    expect(await page.getByLabel('Username').inputValue()).toBe('Ädä <b>');
    await page.getByRole('alert').getByRole('link').focus();
    await keyboard.press('Enter');
    await keyboard.press('Tab');
    await page.getByLabel('E-mail address').focus();
    await keyboard.type('ada@example.org');
    await page.getByLabel('Username').fill('ada');
    await keyboard.press('Enter');
    // The only field of its page has the cursor.
    await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
    expect(await page.locator(':focus').getAttribute('id')).toBe('code');
    await keyboard.type(plain.lastCode());
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    await page.locator('summary', { hasText: 'ada' }).focus();
    await keyboard.press('Enter');
    await keyboard.press('Tab');
    await keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Sign out');
    await keyboard.press('Enter');
    await page.getByText('You are signed out.').waitFor();
    await page.goto(`${plain.server.url}/developers/found`);
    await page.getByLabel('The secret, or text that contains it').focus();
    await keyboard.type('Nothing that looks like one.');
    await keyboard.press('Tab');
    await keyboard.press('Enter');
    await page.getByText('Thank you.').waitFor();
  }, 30_000);
});
