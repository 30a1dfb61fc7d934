import { describe, expect, test } from 'bun:test';
import { readOperations } from '../../../server/docs/openapi/read.ts';
import { readMarkdown } from '../../../server/docs/page/markdown.ts';
import { servedDocument } from '../../../server/docs/served.ts';
import { get, startTestServer } from '../../support/http.ts';
import { type OpenPage, resize, startBrowser } from '../../support/portal/browser.ts';
import { hasChromium } from '../../support/portal/chromium.ts';
import { expectUsable, thinOut } from '../../support/portal/looking.ts';
import { drawHalf, seededRandom } from '../../support/rounds.ts';

const server = await startTestServer();
const document = servedDocument(server.deps.config);
const operations = readOperations(document).map(({ operation }) => operation);

describe('the page as it is sent', () => {
  test('has a policy that forbids loading anything, and reveals nothing to linked sites', async () => {
    const answer = await get(server, '/docs');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(answer.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src( 'sha256-[\w+/]{43}='){2}; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    const text = await answer.text();
    expect(text.match(/<(script|style)\b/g)).toEqual(['<style', '<script', '<script']);
    expect(text).not.toMatch(/\ssrc=|@import|url\(|<link(?! rel="icon" href="data:)|\sstyle=|\son\w+=/);
    const links = ['/developers', '/developers/keys', '/docs', `${server.deps.config.publicUrl}/docs/try`];
    const found = [...text.matchAll(/href="(?!#|data:|\/openapi\.json|\/docs\.md)([^"#]*)/g)].map(([, to]) => to);
    expect([...new Set(found)]).toEqual(links);
    const alone = await startTestServer({ variables: { DEVELOPER_PLATFORM: 'off' } });
    expect(await (await get(alone, '/docs')).text()).not.toContain('href="/developers');
  });

  test('names the contact if CONTACT is set: an e-mail address or a URL, as in the document', async () => {
    expect(document.info.contact).toBeUndefined();
    for (const [CONTACT, contact, link] of [
      ['help@example.org', { email: 'help@example.org' }, '<a href="mailto:help@example.org">help@example.org</a>'],
      [
        'https://x.example.org/?a=1&b=2',
        { url: 'https://x.example.org/?a=1&b=2' },
        'href="https://x.example.org/?a=1&amp;b=2"',
      ],
    ] as const) {
      const configured = await startTestServer({ variables: { CONTACT } });
      expect(await (await get(configured, '/docs')).text()).toContain(link);
      const { info } = (await (await get(configured, '/openapi.json')).json()) as typeof document;
      expect(info.contact).toEqual(contact);
    }
  });

  test('is the target of /, after the public prefix', async () => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await get(server, '/', null, { method });
      expect([answer.status, answer.headers.get('location'), await answer.text()]).toEqual([302, '/docs', '']);
    }
    const prefixed = await startTestServer({ variables: { PUBLIC_URL: 'https://example.org/profiles/' } });
    expect((await get(prefixed, '/')).headers.get('location')).toBe('/profiles/docs');
    const text = await (await get(prefixed, '/docs')).text();
    expect(text).toContain('<a href="/profiles/developers"><code>/developers</code></a>');
    expect(text).toContain('href="/profiles/openapi.json"');
    expect(text).toContain('https://example.org/profiles/api/lookup/username/Ada');
  });

  test('has everything in the document', async () => {
    const text = await (await get(server, '/docs')).text();
    const ids = [...text.matchAll(/\sid="([^"]+)"/g)].map((match) => match[1]);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operationId, summary } of operations) {
      expect(ids).toContain(operationId);
      expect(text).toContain(Bun.escapeHTML(summary));
    }
    for (const name of Object.keys(document.components.schemas)) expect(ids).toContain(`schema-${name}`);
    for (const { heading } of readMarkdown(document.info.description).slice(1))
      expect(text).toContain(`>${heading}</a>`);
    for (const [, hash] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(hash);
    // The additions to the guide's sections depend on their headings.
    for (const sign of ['read -rs SECRET', '<code>api.leaderboard</code></th>', '<q>This API key is not valid.</q>']) {
      expect(text).toContain(sign);
    }
    expect(text).not.toMatch(/undefined|\[object|```|\*\*/);
  });
});

const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

/** Opens a path of the server in a window this wide. */
const inWindow = (path: string, width = 1280) => openPage(server.url + path, { width, colorScheme: 'light' });

describe('the page in a browser', () => {
  test.skipIf(!hasChromium)(
    'asks for nothing else, has no fault and fits, wide and narrow, light and dark',
    async () => {
      const { page, requests, troubles } = await inWindow('/docs');
      // A string, because the tests' types have no DOM.
      await page.evaluate('document.querySelectorAll("main details").forEach((each) => (each.open = true))');
      for (const width of [1280, 390]) {
        await resize(page, width);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
          const text = await page.evaluate<string>('getComputedStyle(document.body).color');
          const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
          expect(contrast(text, ground)).toBeGreaterThan(7);
          expect(luminance(ground) > 0.5).toBe(colorScheme === 'light');
        }
      }
      expect(requests).toEqual([`${server.url}/docs`]);
      expect(troubles).toEqual([]);
    },
  );

  test.skipIf(!hasChromium)('works with a malformed or unknown hash', async () => {
    const malformed = drawHalf(['#%', '#%E0%A4'], seededRandom('malformed hashes'));
    for (const hash of [...malformed, '#nothing']) {
      const { page, troubles } = await inWindow(`/docs${hash}`);
      await page.locator('nav.contents').getByRole('link', { name: 'Errors' }).click();
      await page.locator('nav.contents a[aria-current]', { hasText: 'Errors' }).waitFor();
      expect([new URL(page.url()).hash, troubles]).toEqual(['#errors', []]);
    }
  });

  test.skipIf(!hasChromium)(
    'is accessible, whatever is unfolded',
    async () => {
      const { page } = await inWindow('/docs');
      await thinOut(page);
      await expectUsable(page);
    },
    60_000,
  );

  test.skipIf(!hasChromium)('names the current section beside its folded contents, and marks it in them', async () => {
    const { page } = await inWindow('/docs#schemas', 390);
    await page.locator('nav.contents summary').getByText('Contents: Schemas', { exact: true }).waitFor();
    // A click by Playwright would scroll the page to the sticky contents first.
    await page.evaluate("document.querySelector('nav.contents summary').click()");
    const marked = page.locator('nav.contents a[aria-current]');
    expect(await marked.textContent()).toBe('Schemas');
    // The contents are scrolled to it.
    const bottomOf = (selector: string) => `document.querySelector('${selector}').getBoundingClientRect().bottom`;
    await page.waitForFunction(`${bottomOf('.contents [aria-current]')} <= ${bottomOf('.contents')} + 1`);
  });

  test.skipIf(!hasChromium)('copies a line, and follows the links of its contents', async () => {
    const { page, troubles } = await inWindow('/', 390);
    expect(page.url()).toBe(`${server.url}/docs`);
    const article = page.locator('#getProfileByUsername');
    await page.getByText('Contents').click();
    await page.locator('nav').getByRole('link', { name: 'Look up a profile by username or alias' }).click();
    expect(new URL(page.url()).hash).toBe('#getProfileByUsername');
    await article.getByRole('button', { name: 'Copy' }).first().click();
    await article.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toBe(
      `curl -sS -H "Authorization: Bearer $SECRET" ${server.deps.config.publicUrl}/api/lookup/username/Ada`,
    );
    expect(troubles).toEqual([]);
  });

  test.skipIf(!hasChromium)(
    'shows the target of a URL below the sticky bar',
    async () => {
      const { page } = await inWindow('/docs');
      for (const width of [1280, 700]) {
        await resize(page, width);
        for (const id of ['permissions', 'errors', 'headers']) {
          await page.goto(`${server.url}/docs#${id}`);
          const bars = await page.$$eval('.top, .contents', (all) =>
            all.map((one) => one.getBoundingClientRect()).filter(({ left, right }) => left < 400 && right > 500),
          );
          const covered = Math.max(...bars.map(({ bottom }) => bottom));
          const { y = 0 } = (await page.locator(`#${id} h2`).boundingBox()) ?? {};
          expect([width, id, y >= covered, y < 400]).toEqual([width, id, true, true]);
        }
      }
    },
    30_000,
  );

  test.skipIf(!hasChromium)(
    'opens the targets of its contents, from anywhere, on a phone and without scripts',
    async () => {
      for (const more of [{}, { isWithoutScripts: true }] as const) {
        const { page, troubles } = await openPage(`${server.url}/docs`, { width: 390, colorScheme: 'dark', ...more });
        const answers = page.locator('#getProfileByUid').getByText('Responses', { exact: true });
        expect(await answers.isVisible()).toBe(false);
        await page.locator('footer').scrollIntoViewIfNeeded();
        const summary = page.locator('nav.contents summary');
        expect((await summary.boundingBox())?.y).toBeLessThan(60);
        await summary.click();
        await page.locator('nav').getByRole('link', { name: 'Look up a profile by UID' }).click();
        expect(await answers.isVisible()).toBe(true);
        // The heading is below the sticky bar, and in the viewport.
        const top = (await page.locator('main summary', { hasText: 'Look up a profile by UID' }).boundingBox())?.y ?? 0;
        expect([top >= 40, top < 400]).toEqual([true, true]);
        // A link on the page opens a fold too.
        await page.locator('#getProfileByUid').getByRole('link', { name: 'SimplifiedProfile' }).first().click();
        expect(await page.locator('#schema-SimplifiedProfile').isVisible()).toBe(true);
        expect(troubles).toEqual([]);
      }
    },
    30_000,
  );

  test.skipIf(!hasChromium)(
    'has a link, visible once focused, with which keyboard users skip the contents',
    async () => {
      const { page, troubles } = await inWindow('/docs');
      const clip = () => page.evaluate<string>('getComputedStyle(document.querySelector(".skip")).clipPath');
      expect(await clip()).not.toBe('none');
      await page.keyboard.press('Tab');
      expect(await page.evaluate<string>('document.activeElement.className')).toBe('skip');
      expect(await clip()).toBe('none');
      await page.keyboard.press('Enter');
      expect(await page.evaluate<string>('document.activeElement.id')).toBe('content');
      await page.keyboard.press('Tab');
      expect(await page.evaluate<boolean>('document.activeElement.closest("main") !== null')).toBe(true);
      expect(troubles).toEqual([]);
    },
  );

  test('can be read without scripts', async () => {
    const text = await (await get(server, '/docs')).text();
    expect(text).toContain('<details><summary>Contents</summary>');
    expect(text).not.toContain('<button');
  });
});

function channels(color: string): number[] {
  return (color.match(/\d+(\.\d+)?/g) ?? []).slice(0, 3).map((part) => Number(part) / 255);
}

/** Relative luminance and contrast as WCAG 2.2 defines them. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((c) =>
    c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}
