import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { settleBackground } from '../../../../server/thread/background.ts';
import { rejectKey } from '../../../../shared/keys/life/lifecycle.ts';
import { showKey } from '../../../../shared/keys/view.ts';
import { onBox } from '../../../support/actors.ts';
import { importLines } from '../../../support/import.ts';
import { issue, request } from '../../../support/keys.ts';
import { freePort } from '../../../support/network/proxy.ts';
import { adminWorld, signInAdmin } from '../../../support/portal/admin-pages.ts';
import { addPasskey, keepCookie, type OpenPage, resize, startBrowser } from '../../../support/portal/browser.ts';
import { hasChromium } from '../../../support/portal/chromium.ts';
import { expectUsable, hiddenInFocus } from '../../../support/portal/looking.ts';
import { personAt } from '../../../support/portal/pace.ts';
import { serverOfPages } from '../../../support/portal/pages.ts';
import { drawHalf, drawQuarter, seededRandom } from '../../../support/rounds.ts';

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
  test('decides on one request with 2 clicks and a touch, and on three with 5', async () => {
    const { page, troubles, count } = await signIn('Grace');
    // One: from the queue to the next request, which says the outcome.
    const [first = '', other = ''] = await requests(2);
    const one = await count();
    await page.locator(`button[name="approve"][value="${first}"]`).click();
    await button(page, 'Approve with my passkey').click();
    await page.getByText('Approved: Bot 0').waitFor();
    expect([new URL(page.url()).searchParams.get('decided'), one]).toEqual([first, { clicks: 2, touches: 1 }]);
    rejectKey(access, { identifier: other, reason: 'Not needed.', by: onBox('root') });
    // One is rejected with a reason. From the page of the request, either decision takes one click more.
    const decisions = [
      ['Reject', 'Rejected: Bot 0', 2],
      ['Approve', 'Approved: Bot 0', 3],
      ['Reject', 'Rejected: Bot 0', 3],
    ] as const;
    for (const [name, said, clicks] of drawQuarter(decisions, seededRandom('decisions on a request'))) {
      const [key] = await requests(1);
      const through = await count();
      if (clicks === 2) await page.locator(`button[name="reject"][value="${key}"]`).click();
      else {
        await page.locator(`h2 a[href$="${key}"]`).click();
        await button(page, `${name}…`).click();
      }
      if (name === 'Reject') await page.getByLabel('Reason').fill('Say what the bot does.');
      await button(page, `${name} with my passkey`).click();
      await page.getByText(said).waitFor();
      expect([name, through]).toEqual([name, { clicks, touches: 1 }]);
    }
    // Three similar requests, each selected: from the queue to the page of the outcomes.
    const three = await requests(3);
    const chosen = await count();
    expect(await page.locator('.bar').isVisible()).toBe(false);
    for (const key of three) await page.locator(`input[name="chosen"][value="${key}"]`).click();
    await button(page, 'Approve as requested…').click();
    await button(page, 'Approve with my passkey').click();
    await page.getByText('3 of 3 mailed').waitFor();
    expect([chosen, new Set(states(three))]).toEqual([{ clicks: 5, touches: 1 }, new Set(['Active'])]);
    expect(new URL(page.url()).pathname).toMatch(/^\/developers\/admin\/decided\/\d+$/);
    // No request is left, so the head shows no number.
    expect(await page.locator('.nav a').first().textContent()).toBe('Requests');
    await expectUsable(page);
    await settleBackground(world.services.background);
    expect(troubles).toEqual([]);
  }, 120_000);

  test('reads twelve requests, approves ten with 3 clicks and rejects two with one reason, in less than 4 minutes', async () => {
    const ten = await requests(10, 'Badge bot', { description: BADGES });
    await requests(2, 'Scraper', {
      description: VAGUE,
      expectedUsage: null,
      permissions: ['api.lookup', 'api.leaderboard'],
    });
    const { page, troubles, count } = await signIn('Ada');
    const atOnce = await count();
    const admin = personAt(page);
    await admin.read('Requests');
    await admin.tap('checkbox', 'Select Scraper 0');
    await admin.tap('checkbox', 'Select Scraper 1');
    await button(page, /^Reject with one reason…$/).click();
    admin.did.taps++;
    await admin.read('Reject 2 requests?', 'Reason');
    await admin.type('Reason', 'Say which program reads the board, how often, and where its users see the data.');
    await admin.tap('button', 'Reject with my passkey');
    await page.getByText('2 of 2 rejected').waitFor();
    await admin.read('2 requests rejected');
    await admin.tap('link', 'Requests');
    await admin.read('Requests', 'Select the first 10');
    Object.assign(atOnce, { clicks: 0, touches: 0 });
    await admin.tap('link', 'Select the first 10');
    await admin.tap('button', 'Approve as requested…');
    // Each was read in the queue, except what they have in common and the recipient of the first mail.
    await admin.read('Approve 10 requests?', 'Badge bot 0');
    // The button is visible at once, however long the list above it is.
    const approve = button(page, 'Approve with my passkey');
    const bottoms: number[] = [];
    for (const [width, height] of [
      [390, 844],
      [1280, 800],
    ] as const) {
      await resize(page, width, height);
      const box = (await approve.boundingBox()) ?? { y: 0, height: 0 };
      bottoms.push(height - box.y - box.height);
    }
    expect(bottoms.filter((below) => below < 0 || below > 60)).toEqual([]);
    await admin.tap('button', 'Approve with my passkey');
    await page.getByText('10 of 10 mailed').waitFor();
    expect([atOnce, new Set(states(ten))]).toEqual([{ clicks: 3, touches: 1 }, new Set(['Active'])]);
    await admin.read('10 requests approved', '10 of 10 mailed');
    // Each of two touches of the passkey takes as long as a tap.
    admin.did.taps += 2;
    process.stderr.write(`Twelve requests take ${admin.seconds()} s\n`);
    expect(admin.did.taps).toBe(11);
    expect(admin.seconds()).toBeLessThan(240);
    expect(troubles).toEqual([]);
  }, 60_000);

  test('selects with x, moves with j and k, decides with a and r, but only while the focus is in a row', async () => {
    const [, second = ''] = await requests(3, 'Row');
    const { page, troubles, count } = await signIn('Barbara');
    await count();
    await page.keyboard.press('x');
    expect(await page.locator(':checked').count()).toBe(0);
    await page.getByRole('searchbox').focus();
    await page.keyboard.type('jkxar');
    expect([await page.getByRole('searchbox').inputValue(), page.url()]).toEqual(['jkxar', QUEUE]);
    const focused = () => page.evaluate<string>('document.activeElement.querySelector("h2")?.textContent ?? ""');
    await page.locator('[data-row]').first().focus();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    expect(await focused()).toBe('Row 1');
    await page.keyboard.press('Control+x');
    expect(await page.locator(':checked').count()).toBe(0);
    await page.keyboard.press('x');
    expect(await page.locator(':checked').getAttribute('value')).toBe(second);
    // A CSS counter shows how many are selected.
    const counted = 'getComputedStyle(document.querySelector(".count"), "::before").content';
    expect(await page.evaluate<string>(counted)).toContain('selected');
    expect(await page.locator('.bar').isVisible()).toBe(true);
    await page.getByRole('link', { name: 'Select none' }).click();
    await page.locator('.bar').waitFor({ state: 'hidden' });
    await page.locator('[data-row]').nth(1).focus();
    await page.keyboard.press('r');
    await page.getByRole('heading', { name: 'Reject “Row 1”?' }).waitFor();
    await page.goBack();
    await page.locator('[data-row]').nth(1).focus();
    await page.keyboard.press('a');
    await page.getByRole('heading', { name: 'Approve “Row 1”?' }).waitFor();
    expect(troubles).toEqual([]);
  }, 60_000);

  test('finds Approve… beside the description at 1280 × 800, within ten key presses, and at the bottom of a phone', async () => {
    const [key = ''] = await requests(1, 'Discord role sync');
    await issue(access, { profile: `user${profiles}`, name: 'Another' });
    const { page } = await signIn('Dana');
    await page.goto(`${QUEUE}/keys/${key}`);
    const approve = button(page, 'Approve…');
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
    while ((await focus()) !== 'Approve…') await press('Tab');
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
        '[data-row]',
        (rows, most) => rows.filter((row) => row.getBoundingClientRect().bottom <= most).length,
        bottom,
      );
    expect(await whole(800)).toBeGreaterThanOrEqual(5);
    await page.locator('input[name="chosen"]').first().click();
    const bar = (await page.locator('.bar').boundingBox()) ?? { y: 0 };
    expect(await whole(bar.y)).toBeGreaterThanOrEqual(4);
    await expectUsable(page);
    await resize(page, 1280, 800);
    await button(page, /^Reject with one reason…$/).click();
    await page.getByRole('heading', { name: /^Reject/ }).waitFor();
    await expectUsable(page);
  }, 60_000);

  test('sees the focused element, never below a sticky bar, on a phone, in a wide window, and at 400% zoom', async () => {
    await requests(6, 'Bot to tab through');
    const { page, count } = await signIn('Frances');
    await count();
    const key = await page.locator('input[name="chosen"]').first().getAttribute('value');
    const random = seededRandom('windows and pages to tab through');
    const hidden: unknown[] = [];
    const opened: string[] = [];
    const sticking: string[] = [];
    const withoutBar = ['overview', 'log', 'people'].map(
      (path) => [path, () => page.goto(`${QUEUE}/${path}`)] as const,
    );
    const pages: (readonly [path: string, open: () => Promise<unknown>])[] = [
      ['queue', () => page.locator('input[name="chosen"]').first().check()],
      ['key', () => page.goto(`${QUEUE}/keys/${key}`)],
      [
        'several',
        async () => {
          await page.goto(`${QUEUE}?choose=first`);
          await button(page, 'Approve as requested…').click();
          await button(page, 'Approve with my passkey').waitFor();
        },
      ],
      ...drawQuarter(withoutBar, random),
    ];
    // Most is sticky on a phone.
    const PHONE = [390, 844] as const;
    const windows = [
      [1280, 800],
      [320, 256],
    ] as const;
    const isSticky =
      '["sticky", "fixed"].includes(getComputedStyle(document.querySelector(".bar") ?? document.body).position)';
    for (const [path, open] of pages) {
      await open();
      for (const [width, height] of [PHONE, ...drawHalf(windows, random)]) {
        await resize(page, width, height);
        opened.push(`${path} at ${width}`);
        if (await page.evaluate<boolean>(isSticky)) sticking.push(`${path} at ${width}`);
        for (const one of await hiddenInFocus(page)) hidden.push([width, path, one]);
      }
    }
    expect(hidden).toEqual([]);
    // At 400% zoom nothing is sticky, because it would leave too little of the page.
    const hasBar = /^(queue|key|several) at (390|1280)$/;
    expect(sticking).toEqual(opened.filter((one) => hasBar.test(one)));
  }, 60_000);

  test('selects, searches, filters the log and reaches the decision without scripts', async () => {
    const { cookie } = await signInAdmin(world, 'Joan');
    const size = { width: 390, colorScheme: 'dark', isWithoutScripts: true } as const;
    const { page: plain } = await openPage(QUEUE, { ...size, cookie });
    await plain.locator('input[name="chosen"]').first().check();
    expect(await plain.locator('.bar').isVisible()).toBe(true);
    await button(plain, 'Approve as requested…').click();
    await plain.getByText('Passkeys need JavaScript').waitFor();
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
