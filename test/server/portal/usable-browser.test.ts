import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { addAdmin } from '../../../shared/admins.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import { KEY_STATES } from '../../../shared/db/schema/keys.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { expectUsable, hiddenInFocus, keepCookie, type OpenPage, startBrowser } from '../../support/browser.ts';
import { hasChromium } from '../../support/chromium.ts';
import { DESCRIPTION, issue, keyIn, request } from '../../support/keys.ts';
import { ADA, adminPages, BEA, signInOwner, useKey } from '../../support/pages.ts';
import { ticketFor } from '../../support/people.ts';
import { importLines } from '../../support/profiles.ts';
import { onBox } from '../../support/world.ts';

// Every page in a real Chromium: axe finds nothing, it fits from 320 to 1280 pixels, and what people wrote is text. Of pages that
// differ in a key's state alone, axe sees a few; the lists have all states.

const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;
const WIDE = { width: 1280, colorScheme: 'light' } as const;

/** Markup, ends of surrounding elements, bidirectional control characters and an astral character. */
const MARK = `"'></textarea></title></bdi><script>mark()</script><img src=x onerror=mark()><a href=//evil.example>x</a>\u202e\u2067 😀`;
const MARKED = {
  name: MARK,
  description: `${DESCRIPTION}\n${MARK}`,
  projectUrl: `https://example.org/?${MARK.replaceAll(/\s/g, '')}`,
  expectedUsage: MARK,
};

/** A server with keys of two owners in every state; people have filled every text with the mark. */
async function markedWorld() {
  const world = await adminPages({ PUBLIC_NAME: `<script>mark()</script>` });
  const { access, clock } = world;
  const used = (await issue(access, { profile: 'ada', ...MARKED }, { expiresAtMs: clock.nowMs() + DAY_MS })).identifier;
  useKey(access, used, 20, 2_553);
  const rejected = await request(access, { profile: 'ada', ...MARKED });
  moveAndNotify(access, 'reject', { identifier: rejected, reason: MARK, by: onBox('root') });
  const pending = await request(access, { profile: 'ada', ...MARKED, successorOf: used });
  const keys: string[] = [];
  for (const state of KEY_STATES.toReversed()) {
    keys.push(await keyIn(state, { ...access, clock }, BEA.username));
  }
  const [ada, bea] = [signInOwner(access, ADA.id), signInOwner(access, BEA.id)];
  return { ...world, used, rejected, pending, keys, ada, bea };
}

/** Expects that texts of people are shown, and not run. */
async function expectTexts(page: Page): Promise<void> {
  expect(await page.locator('main img, main a[href*="evil"]:not([rel="noreferrer noopener"])').count()).toBe(0);
  expect(await page.evaluate('typeof mark')).toBe('undefined');
  // A bidirectional control character does not affect the text after it.
  const turned =
    "[...document.querySelectorAll('main *')].some((one) => getComputedStyle(one).direction !== 'ltr' && one.localName !== 'bdi')";
  expect(await page.evaluate(turned)).toBe(false);
}

/** Fills each text field of a page with the mark, sends its form, and expects it back. */
async function expectFormBack(page: Page): Promise<void> {
  const fields = page.locator(
    'main form[method=post] :is(input:not([type=hidden], [type=checkbox], [type=radio]), textarea):visible',
  );
  for (let at = 0; at < (await fields.count()); at++) await fields.nth(at).fill(`\u0007${MARK}`);
  await page.locator('main form[method=post] button').first().click();
  await page.getByRole('alert').waitFor();
  const kept = await fields.evaluateAll((all) => all.map((one) => (one as unknown as { value: string }).value));
  expect(kept).toEqual(kept.map(() => `\u0007${MARK}`));
  await expectTexts(page);
  await expectUsable(page);
}

describe.skipIf(!hasChromium)('a page is usable', async () => {
  if (!hasChromium) return;
  const { server, access, ada, bea, grace, used, rejected, pending, keys } = await markedWorld();

  test('of visitors', async () => {
    const { page, troubles } = await openPage('about:blank', WIDE);
    const ticket = ticketFor(access, ADA.id);
    for (const path of ['', '/sign-in/code', '/found', '/nothing', '/admin/sign-in', `/enter?ticket=${ticket}`]) {
      await page.goto(`${server.url}/developers${path}`);
      await expectTexts(page);
      await expectUsable(page);
    }
    await page.goto(`${server.url}/developers/sign-in`);
    await expectFormBack(page);
    await page.goto(
      addAdmin(access, '<img src=x onerror=mark()>', onBox('root')).address.replace(/^http:\/\/[^/]+/, server.url),
    );
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Create a passkey' }).waitFor();
    await expectTexts(page);
    await expectUsable(page);
    // Only the statuses of refused pages, and no violation of the policy.
    expect(troubles.filter((text) => !/422|404/.test(text))).toEqual([]);
  }, 120_000);

  test('of admins', async () => {
    const { page, troubles } = await openPage(server.url, { ...WIDE, cookie: grace.cookie });
    const go = (path: string) => page.goto(`${server.url}/developers/admin${path}`);
    const lists = ['?choose=all', '/keys', '/people', '/log', '/overview'];
    for (const path of [...lists, ...[used, rejected, pending].map((key) => `/keys/${key}`)]) {
      await go(path);
      await expectTexts(page);
      await expectUsable(page);
    }
    // A page that asks once more, and forms that were refused.
    await page.locator('#decide').getByRole('button', { name: 'Reject…' }).click();
    await page.getByLabel('Reason').waitFor();
    await page.locator('main form[method=post] button').click();
    await page.getByRole('alert').waitFor();
    await expectUsable(page);
    await go(`/keys/${pending}`);
    await page.getByRole('group', { name: 'Rate limits' }).getByLabel('other', { exact: true }).check();
    await page.getByLabel('Rate limits: other').fill(MARK);
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('alert').waitFor();
    await expectTexts(page);
    await expectUsable(page);
    expect(troubles.filter((text) => !/422/.test(text))).toEqual([]);
  }, 240_000);

  test('at 400 % zoom and on a phone: no sticky element hides the one that has the focus', async () => {
    const { page } = await openPage(server.url, WIDE);
    for (const [cookie, path] of [
      [grace.cookie, '/admin?choose=all'],
      [grace.cookie, `/admin/keys/${pending}`],
      [ada, `/keys/${used}`],
      [ada, '/keys/new'],
    ] as const) {
      await keepCookie(page.context(), cookie, server.url);
      for (const [width, height] of [
        [1280, 800],
        [320, 256],
        [390, 844],
      ] as const) {
        await page.setViewportSize({ width, height });
        await page.goto(`${server.url}/developers${path}`);
        expect([path, width, ...(await hiddenInFocus(page))]).toEqual([path, width]);
      }
    }
  }, 120_000);

  test('of owners', async () => {
    const { page, troubles } = await openPage('about:blank', WIDE);
    const go = async (cookie: string, path: string) => {
      await keepCookie(page.context(), cookie, server.url);
      await page.goto(`${server.url}/developers${path}`);
      await expectTexts(page);
    };
    await page.goto(server.url);
    for (const path of ['/keys', `/keys/${used}`, `/keys/${rejected}`, `/keys/${pending}`, '/sessions']) {
      await go(ada, path);
      await expectUsable(page);
    }
    for (const path of [`/keys/new?successor-of=${used}`, `/keys/${used}/rename`, `/keys/${used}/revoke`]) {
      await go(ada, path);
      await expectFormBack(page);
    }
    await go(ada, `/keys/new?like=${rejected}`);
    await go(ada, `/keys/${pending}/withdraw`);
    for (const key of keys) await go(bea, `/keys/${key}`);
    await go(bea, '/keys');
    await expectUsable(page);
    await importLines(access, [{ ...BEA, banned: true }]);
    await go(bea, '/keys');
    await expectUsable(page);
    expect(troubles.filter((text) => !/422/.test(text))).toEqual([]);
  }, 240_000);
});
