import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { settleBackground } from '../../../../server/background.ts';
import { showKey } from '../../../../shared/keys/view.ts';
import { importLines } from '../../../support/import.ts';
import { issue, request } from '../../../support/keys.ts';
import { freePort } from '../../../support/network/proxy.ts';
import { adminWorld, signInAdmin } from '../../../support/portal/admin-pages.ts';
import { addPasskey, keepCookie, type OpenPage, resize, startBrowser } from '../../../support/portal/browser.ts';
import { hasChromium } from '../../../support/portal/chromium.ts';
import { expectUsable, hiddenInFocus } from '../../../support/portal/looking.ts';
import { serverOfPages } from '../../../support/portal/pages.ts';

// The effort of deciding, measured in a real Chromium: clicks, touches of the passkey, key presses, and positions on the page.

const port = freePort();
const ORIGIN = `http://localhost:${port}`;
const QUEUE = `${ORIGIN}/developers/admin`;
const world = await adminWorld({ PUBLIC_URL: ORIGIN });
const { access } = world;
await serverOfPages(world, { port });
const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

const WIDE = { width: 1280, height: 800, colorScheme: 'light' } as const;

/** Clicks, and touches of the passkey, since the count started. */
type Count = { clicks: number; touches: number };

/** The browser of a new admin, with the passkey; `count` opens the queue and starts a count. */
async function signIn(name: string) {
  const { cookie, authenticator } = await signInAdmin(world, name);
  const { page, troubles } = await openPage('about:blank', WIDE);
  await keepCookie(page.context(), cookie, ORIGIN);
  const seen: Count = { clicks: 0, touches: 0 };
  await page.exposeFunction('noteClick', () => {
    seen.clicks++;
  });
  const tools = await addPasskey(page, authenticator);
  tools.on('WebAuthn.credentialAsserted', () => {
    seen.touches++;
  });
  // The browser follows a click on a label by one on its input, which does not count.
  await page.addInitScript(`addEventListener('click', (event) => event.detail > 0 && noteClick(), true)`);
  const count = async (): Promise<Count> => {
    await page.goto(QUEUE);
    Object.assign(seen, { clicks: 0, touches: 0 });
    return seen;
  };
  return { page, troubles, count };
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

let profiles = 200;

/** A good description and a poor one, as people write them; each fits into the line of its row. */
const BADGES =
  'A Discord bot for our guild. When somebody types /badges, it looks up that profile and shows its badges. It stores nothing.';
const VAGUE = 'I want to try the API and see what it can do for me. Maybe I will build a page of statistics later.';

/** Requests of different profiles, oldest first. */
async function requests(count: number, name = 'Bot', more: Parameters<typeof request>[1] = {}): Promise<string[]> {
  const keys: string[] = [];
  for (let n = 0; n < count; n++) {
    const id = ++profiles;
    await importLines(access, [{ id, username: `user${id}`, email: `user${id}@example.org` }]);
    world.clock.advance(1_000);
    keys.push(
      await request(access, {
        profile: `user${id}`,
        name: `${name} ${n}`,
        projectUrl: 'https://example.org/a',
        expectedUsage: '300 a day, 60 in a minute',
        ...more,
      }),
    );
  }
  return keys;
}

const states = (keys: readonly string[]) => keys.map((key) => showKey(access, key).state);

describe.skipIf(!hasChromium)('an admin', () => {
  test('decides on one request with 1 click, or 2 with a reason, and on three with 4', async () => {
    const { page, troubles, count } = await signIn('Grace');
    const [first = '', second = ''] = await requests(2);
    const one = await count();
    await page.locator(`button[name="approve"][value="${first}"]`).click();
    await page.getByText('1 mailed').waitFor();
    expect([new URL(page.url()).searchParams.get('decided'), one]).toEqual([first, { clicks: 1, touches: 0 }]);
    const rejecting = await count();
    await page.locator(`button[name="reject"][value="${second}"]`).click();
    await page.getByLabel('Reason').fill('Say what the bot does.');
    await button(page, 'Reject it').click();
    await page.getByText('1 rejected').waitFor();
    expect(rejecting).toEqual({ clicks: 2, touches: 0 });
    const three = await requests(3);
    const chosen = await count();
    expect(await page.locator('.bar').isVisible()).toBe(false);
    for (const key of three) await page.locator(`input[name="chosen"][value="${key}"]`).click();
    // A CSS counter shows how many are chosen.
    const counted = 'getComputedStyle(document.querySelector(".count"), "::before").content';
    expect(await page.evaluate<string>(counted)).toContain('selected');
    await button(page, 'Approve as requested').click();
    await page.getByText('3 mailed').waitFor();
    expect([chosen, new Set(states(three))]).toEqual([{ clicks: 4, touches: 0 }, new Set(['Active'])]);
    // No request is left, so the head shows no number.
    expect(await page.locator('.nav a').first().textContent()).toBe('Requests');
    await expectUsable(page);
    await settleBackground(world.services.background);
    expect(troubles).toEqual([]);
  }, 120_000);

  test('reads twelve requests, rejects three with one reason and approves nine with 2 clicks, in less than 90 seconds', async () => {
    const nine = await requests(9, 'Badge bot', { description: BADGES });
    const three = await requests(3, 'Scraper', {
      description: VAGUE,
      expectedUsage: null,
      permissions: ['api.lookup', 'api.leaderboard'],
    });
    const { page, troubles, count } = await signIn('Ada');
    const seen = await count();
    for (const key of three) await page.locator(`input[name="chosen"][value="${key}"]`).click();
    await page.locator('.bar').getByRole('button', { name: 'Reject' }).click();
    await page
      .getByLabel('Reason')
      .fill('Say which program reads the board, how often, and where its users see the data.');
    await button(page, 'Reject 3 requests').click();
    await page.getByText('3 rejected').waitFor();
    await page.getByRole('link', { name: 'Choose all' }).click();
    await button(page, 'Approve as requested').click();
    await page.getByText('9 mailed').waitFor();
    expect([seen, new Set(states(nine)), new Set(states(three))]).toEqual([
      { clicks: 7, touches: 0 },
      new Set(['Active']),
      new Set(['rejected']),
    ]);
    expect(troubles).toEqual([]);
  }, 60_000);

  test('finds Approve beside the description at 1280 × 800, within ten key presses, and at the bottom of a phone', async () => {
    const [key = ''] = await requests(1, 'Discord role sync');
    await issue(access, { profile: `user${profiles}`, name: 'Another' });
    const { page } = await signIn('Dana');
    await page.goto(`${QUEUE}/keys/${key}`);
    const approve = button(page, /^Approve/);
    const { y = 0, height = 0 } = (await approve.boundingBox()) ?? {};
    // Reject… is beside it, and differs by more than its colour.
    const reject = button(page, 'Reject…');
    expect((await reject.boundingBox())?.y).toBe(y);
    const grounds = await page.evaluate<string[]>(
      `['.buttons [form="approve"]', '.buttons [form="reject"]', '#decide'].map((one) => getComputedStyle(document.querySelector(one)).backgroundColor)`,
    );
    expect([grounds[0] === grounds[1], grounds[1] === grounds[2]]).toEqual([false, true]);
    process.stderr.write(`Approve … ends at y = ${y + height}\n`);
    expect(y + height).toBeLessThanOrEqual(800);
    let keys = 0;
    const press = async (name: string) => {
      await page.keyboard.press(name);
      keys++;
    };
    const focus = () => page.evaluate<string>('document.activeElement.textContent.trim()');
    while ((await focus()) !== 'Skip to the content') await press('Tab');
    await press('Enter');
    await press('Tab');
    expect(await focus()).toBe('To the decision');
    await press('Enter');
    while ((await focus()) !== 'Approve') await press('Tab');
    expect(keys).toBeLessThanOrEqual(10);
    await resize(page, 390);
    await page.goto(`${QUEUE}/keys/${key}`);
    const decide = page.getByRole('navigation', { name: 'To the decision' }).getByRole('link', { name: 'Approve…' });
    const box = (await decide.boundingBox()) ?? { y: 0, height: 0 };
    expect(box.y + box.height).toBeLessThanOrEqual(844);
    await decide.click();
    expect(await approve.isVisible()).toBe(true);
  }, 60_000);

  test('sees five rows in 800 pixels, four while the bar is shown, on accessible pages', async () => {
    // Of a long description a row has three lines.
    await requests(8, 'Bot of the queue', { description: `${BADGES} `.repeat(5) });
    const { page, count } = await signIn('Edith');
    await count();
    const begin = page.locator('.begin').last();
    expect(await begin.evaluate((one) => one.clientHeight / 20)).toBe(3);
    expect(await begin.textContent()).toContain('It stores nothing.');
    const whole = (bottom: number) =>
      page.$$eval(
        '.row[id]',
        (rows, most) => rows.filter((row) => row.getBoundingClientRect().bottom <= most).length,
        bottom,
      );
    expect(await whole(800)).toBeGreaterThanOrEqual(5);
    await page.locator('input[name="chosen"]').first().click();
    const bar = (await page.locator('.bar').boundingBox()) ?? { y: 0 };
    expect(await whole(bar.y)).toBeGreaterThanOrEqual(4);
    await expectUsable(page);
    await resize(page, 1280, 800);
    await page.locator('.bar').getByRole('button', { name: 'Reject' }).click();
    await page.getByRole('heading', { name: /^Reject/ }).waitFor();
    await expectUsable(page);
  }, 60_000);

  test('sees the focused element, never below a sticky bar, on a phone, in a wide window, and at 400% zoom', async () => {
    await requests(6, 'Bot to tab through');
    const { page, count } = await signIn('Frances');
    await count();
    const key = await page.locator('input[name="chosen"]').first().getAttribute('value');
    const hidden: unknown[] = [];
    const opened: string[] = [];
    const sticking: string[] = [];
    const pages: (readonly [path: string, open: () => Promise<unknown>])[] = [
      ['queue', () => page.locator('input[name="chosen"]').first().check()],
      ['key', () => page.goto(`${QUEUE}/keys/${key}`)],
      ['log', () => page.goto(`${QUEUE}/log`)],
    ];
    const windows = [
      [390, 844],
      [1280, 800],
      [320, 256],
    ] as const;
    const isSticky =
      '["sticky", "fixed"].includes(getComputedStyle(document.querySelector(".bar") ?? document.body).position)';
    for (const [path, open] of pages) {
      await open();
      for (const [width, height] of windows) {
        await resize(page, width, height);
        opened.push(`${path} at ${width}`);
        if (await page.evaluate<boolean>(isSticky)) sticking.push(`${path} at ${width}`);
        for (const one of await hiddenInFocus(page)) hidden.push([width, path, one]);
      }
    }
    expect(hidden).toEqual([]);
    // At 400% zoom nothing is sticky, because it would leave too little of the page.
    const hasBar = /^(queue|key) at (390|1280)$/;
    expect(sticking).toEqual(opened.filter((one) => hasBar.test(one)));
  }, 60_000);

  test('decides on requests, searches and filters the log without scripts', async () => {
    const { cookie } = await signInAdmin(world, 'Joan');
    const size = { width: 390, colorScheme: 'dark', isWithoutScripts: true } as const;
    const { page: plain } = await openPage(QUEUE, { ...size, cookie });
    await requests(1, 'Bot without scripts');
    await plain.goto(`${QUEUE}?choose=all`);
    expect(await plain.locator('.bar').isVisible()).toBe(true);
    await button(plain, 'Approve as requested').click();
    await plain.locator('#decided').waitFor();
    await plain.goto(QUEUE);
    await plain.getByRole('searchbox').fill('row');
    await plain.keyboard.press('Enter');
    await plain.getByRole('heading', { name: 'Keys' }).waitFor();
    // The filter of the log, and the end of a session.
    await plain.goto(`${QUEUE}/log`);
    await plain.locator('summary', { hasText: 'Filter' }).click();
    await plain.getByLabel('Who').fill('root');
    await plain.getByLabel('What').selectOption('admins');
    await button(plain, 'Show').click();
    await plain.getByText('Added admin Joan').first().waitFor();
    expect(new URL(plain.url()).searchParams.get('kind')).toBe('admins');
    await plain.goto(`${ORIGIN}/developers/sessions`);
    await button(plain, /^End/).click();
    await plain.getByText('You are signed out.').waitFor();
  }, 60_000);
});
