import { describe, expect, test } from 'bun:test';
import { type OpenPage, type Size, startBrowser } from '../../support/browser.ts';
import { hasChromium } from '../../support/chromium.ts';
import { issue } from '../../support/keys.ts';
import { ownerWorld, serverOfPages, useKey } from '../../support/pages.ts';

// What all pages have in common, in a real Chromium.

const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

const world = await ownerWorld();
const server = await serverOfPages(world);
const { identifier } = await issue(world.access, { profile: 'ada', name: 'Badge bot' });
useKey(world.access, identifier, 3);
const KEY = `/developers/keys/${identifier}`;

const WIDE: Size = { width: 1280, colorScheme: 'light' };

const PLAIN: Size = { ...WIDE, isWithoutScripts: true };

/** A window on a page, signed in as its owner. */
const windowOn = (path: string, size: Size) => openPage(server.url + path, { ...size, cookie: world.cookie });

describe.skipIf(!hasChromium)('times', () => {
  test('are in the browser’s time zone, which the footer names, and in UTC without scripts', async () => {
    const seen = async (size: Size) => {
      const { page, troubles } = await windowOn(KEY, size);
      const texts = [await page.locator('.log time').first().getAttribute('title')];
      const zone = page.locator('#zone');
      const foot = (await zone.isVisible()) ? await zone.textContent() : '';
      await page.goto(`${server.url}/developers/keys`);
      const title = await page.locator('time[title]').first().getAttribute('title');
      expect(troubles).toEqual([]);
      return [...texts, title, foot];
    };
    expect(await seen({ ...WIDE, timezoneId: 'Asia/Tokyo' })).toEqual([
      '2026-01-01 09:00',
      '2026-01-01 09:00',
      ' · times in Asia/Tokyo',
    ]);
    expect(await seen({ ...WIDE, timezoneId: 'Asia/Tokyo', isWithoutScripts: true })).toEqual([
      '2026-01-01 00:00 UTC',
      '2026-01-01 00:00 UTC',
      '',
    ]);
  }, 30_000);
});

describe.skipIf(!hasChromium)('a page', () => {
  test('has buttons to copy texts, but only with scripts', async () => {
    const { page, troubles } = await windowOn(KEY, WIDE);
    await page.getByRole('button', { name: 'Copy the identifier' }).click();
    await page.getByRole('button', { name: 'Copied the identifier' }).waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(identifier);
    expect(troubles).toEqual([]);
    const plain = await windowOn(KEY, PLAIN);
    expect(await plain.page.getByRole('button', { name: 'Copy' }).count()).toBe(0);
  }, 30_000);

  test('shows on the pressed button that the form is being sent, until the visitor comes back', async () => {
    const { page } = await windowOn(`${KEY}/rename`, WIDE);
    const said = await page.evaluate<string>(
      "(() => { const button = document.querySelector('main button'); button.click(); return button.textContent; })()",
    );
    expect(said).toBe('Sending…');
    await page.waitForURL(server.url + KEY);
    await page.goBack();
    expect(await page.locator('main button').textContent()).toBe('Rename');
  }, 30_000);

  test('restores the text of a button that was pressed twice', async () => {
    const { page } = await windowOn(`${KEY}/rename`, WIDE);
    const said = await page.evaluate<string[]>(`(() => {
      addEventListener('submit', (event) => event.preventDefault());
      const button = document.querySelector('main button');
      button.click();
      button.click();
      const sending = button.textContent;
      dispatchEvent(new Event('pagehide'));
      return [sending, button.textContent];
    })()`);
    expect(said).toEqual(['Sending…', 'Rename']);
  }, 30_000);

  test('with a refused form focuses the list of errors, even without scripts', async () => {
    for (const how of [WIDE, PLAIN]) {
      const { page } = await windowOn(`${KEY}/rename`, how);
      await page.fill('#name', '');
      await page.locator('main button').click();
      await page.getByRole('alert').waitFor();
      expect(await page.locator(':focus').getAttribute('role')).toBe('alert');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      expect(await page.locator(':focus').getAttribute('id')).toBe('name');
    }
  }, 30_000);

  test('has a menu under the visitor’s name, which Escape, a click elsewhere or the focus elsewhere closes', async () => {
    const { page } = await windowOn(KEY, WIDE);
    const [menu, link] = [
      page.locator('summary', { hasText: 'ada' }),
      page.getByRole('link', { name: 'Your sign-ins' }),
    ];
    for (const leave of [
      () => page.keyboard.press('Escape'),
      () => page.locator('h1').click(),
      () => page.locator('footer a').first().focus(),
    ]) {
      await menu.click();
      expect(await link.isVisible()).toBe(true);
      await leave();
      expect(await link.isVisible()).toBe(false);
    }
    // Without scripts, the style hides it once the focus is elsewhere.
    const plain = await windowOn(KEY, PLAIN);
    await plain.page.locator('summary', { hasText: 'ada' }).press('Enter');
    expect(await plain.page.getByRole('link', { name: 'Your sign-ins' }).isVisible()).toBe(true);
    for (let presses = 0; presses < 3; presses++) await plain.page.keyboard.press('Tab');
    expect(await plain.page.getByRole('link', { name: 'Your sign-ins' }).isVisible()).toBe(false);
  }, 30_000);
});
