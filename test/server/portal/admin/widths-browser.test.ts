import { expect, test } from 'bun:test';
import { importLines } from '../../../support/import.ts';
import { issue, request } from '../../../support/keys.ts';
import { adminWorld, signInAdmin } from '../../../support/portal/admin-pages.ts';
import { type OpenPage, resize, startBrowser } from '../../../support/portal/browser.ts';
import { hasChromium } from '../../../support/portal/chromium.ts';
import { serverOfPages } from '../../../support/portal/pages.ts';

// How admins' pages use the width of a window.

const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;
const world = await adminWorld();
const { access } = world;
await importLines(access, [{ id: 8, username: 'maximiliane', email: 'max@example.org' }]);
const { identifier: active } = await issue(access, { profile: 'maximiliane', name: 'Presentation of everything' });
const pending = await request(access, { profile: 'maximiliane', name: `Long${'g'.repeat(251)}` });
const grace = await signInAdmin(world, 'Grace');
const { url } = await serverOfPages(world);

const openAs = async (path: string, width: number) => {
  const size = { width, height: 800, colorScheme: 'light', cookie: grace.cookie } as const;
  return (await openPage(`${url}/developers/admin${path}`, size)).page;
};

test.skipIf(!hasChromium)(
  'a list breaks no word of usual length, and no state, beside the longest name',
  async () => {
    const page = await openAs('/keys', 1280);
    for (const width of [1280, 768, 641, 390]) {
      await resize(page, width, 800);
      // The lines of each word of two names, and of each state: one box if it is whole.
      const lines = await page.evaluate<number[]>(`[...document.querySelectorAll('th bdi, .state')].flatMap((one) => {
      const text = one.firstChild;
      return text.data.length > 200 ? [] : [...text.data.matchAll(/\\S+/g)].map(({ 0: word, index }) => {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        return range.getClientRects().length;
      });
    })`);
      expect([width, lines.length > 5, lines.filter((count) => count !== 1)]).toEqual([width, true, []]);
      const heights = await page.locator('.state').evaluateAll((all) => all.map((one) => one.clientHeight));
      expect([width, heights.every((height) => height <= 24)]).toEqual([width, true]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
  },
  30_000,
);

test.skipIf(!hasChromium)(
  'the log names who did something in one line',
  async () => {
    const page = await openAs('/log', 1280);
    for (const width of [1280, 768, 641]) {
      await resize(page, width, 800);
      const lines = await page
        .locator('[data-label="Who"] bdi')
        .evaluateAll((all) => all.map((one) => one.getClientRects().length));
      expect([width, lines.length > 3, Math.max(...lines)]).toEqual([width, true, 1]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
  },
  30_000,
);

test.skipIf(!hasChromium)(
  'the bar of a narrow window is one line, and stays apart from the decision',
  async () => {
    for (const key of [active, pending]) {
      const page = await openAs(`/keys/${key}`, 390);
      for (const width of [390, 768]) {
        await resize(page, width, 800);
        const bar = page.locator('.to-decision');
        expect((await bar.boundingBox())?.height).toBeLessThanOrEqual(64);
        await page.evaluate(`document.querySelector('#decide').scrollIntoView({ block: 'center' })`);
        const [above, below] = [await bar.boundingBox(), await page.locator('#decide').boundingBox()];
        expect((below?.y ?? 0) - ((above?.y ?? 0) + (above?.height ?? 0))).toBeGreaterThanOrEqual(12);
      }
    }
  },
  30_000,
);
