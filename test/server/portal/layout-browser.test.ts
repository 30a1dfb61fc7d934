import { describe, expect, test } from 'bun:test';
import { issue } from '../../support/keys.ts';
import { type OpenPage, type Size, startBrowser } from '../../support/portal/browser.ts';
import { hasChromium } from '../../support/portal/chromium.ts';
import { ownerWorld } from '../../support/portal/owner-pages.ts';
import { serverOfPages } from '../../support/portal/pages.ts';

// What all pages have in common, in a real Chromium.

const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

const world = await ownerWorld();
const server = await serverOfPages(world);
const { identifier } = await issue(world.access, { profile: 'ada', name: 'Badge bot' });
const KEY = `/developers/keys/${identifier}`;

const WIDE: Size = { width: 1280, colorScheme: 'light' };

/** A window on a page, as its owner sees it. */
async function windowOn(path: string, size: Size) {
  const { page, troubles } = await openPage(`${server.url}/developers/found`, size);
  const [name = '', value = ''] = world.cookie.split('=');
  await page.context().addCookies([{ name, value, url: server.url }]);
  await page.goto(server.url + path);
  return { page, troubles };
}

describe.skipIf(!hasChromium)('times', () => {
  test('are in the zone of the browser, which the foot names, and in UTC without scripts', async () => {
    const seen = async (size: Size) => {
      const { page, troubles } = await windowOn(KEY, size);
      const history = page.locator('table', { hasText: 'Who' }).first();
      const texts = [
        await history.locator('th').first().textContent(),
        await history.locator('time').first().textContent(),
      ];
      const zone = page.locator('#zone');
      const foot = (await zone.isVisible()) ? await zone.textContent() : '';
      await page.goto(`${server.url}/developers/keys`);
      const title = await page.locator('time[title]').first().getAttribute('title');
      expect(troubles).toEqual([]);
      return [...texts, title, foot];
    };
    expect(await seen({ ...WIDE, timezoneId: 'Asia/Tokyo' })).toEqual([
      'When (Asia/Tokyo)',
      '2026-01-01 09:00',
      '2026-01-01 09:00',
      'Times are in the zone of this browser, Asia/Tokyo.',
    ]);
    expect(await seen({ ...WIDE, timezoneId: 'Asia/Tokyo', isWithoutScripts: true })).toEqual([
      'When (UTC)',
      '2026-01-01 00:00',
      '2026-01-01 00:00 UTC',
      '',
    ]);
  }, 30_000);
});
