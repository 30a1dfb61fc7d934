import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { type OpenPage, type Size, startBrowser } from '../../support/browser.ts';
import { hasChromium } from '../../support/chromium.ts';
import { DESCRIPTION, issue, keysListed } from '../../support/keys.ts';
import { type OwnerWorld, ownerWorld, serverOfPages, useKey } from '../../support/pages.ts';

// The owners' pages in a real Chromium, as an owner uses them: by hand, by keyboard, on a narrow screen.

const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

/**
 * A new service with its owners, and a window on one of its pages, as an owner who is signed in. Each request is held back until
 * `answered` resolves.
 */
async function windowOn(
  path: string | ((world: OwnerWorld) => Promise<string>),
  size: Size,
  answered?: (request: { method: string }) => Promise<void>,
) {
  const world = await ownerWorld();
  const server = await serverOfPages(world);
  const { page, troubles } = await openPage(server.url + (typeof path === 'string' ? path : await path(world)), {
    ...size,
    cookie: world.cookie,
  });
  if (answered !== undefined) {
    await page.route('**', async (route) => {
      await answered({ method: route.request().method() });
      await route.continue();
    });
  }
  const go = (to: string) => page.goto(`${server.url}${to}`);
  return { world, server, page, troubles, go };
}

/** Presses Tab until the focused element has this name, then Enter. */
async function press(page: Page, name: string): Promise<void> {
  await tabTo(page, (focused) => focused.text === name);
  await page.keyboard.press('Enter');
}

/** Presses Tab until a field has the focus, and replaces its content. */
async function type(page: Page, field: string, text: string): Promise<void> {
  await tabTo(page, ({ id }) => id === field);
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(text);
}

async function tabTo(page: Page, isIt: (focused: { id: string; text: string }) => boolean): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab');
    const { id, text, isSeen } = (await page.evaluate(`(() => {
      const one = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(one);
      return { id: one.id, text: one.innerText ?? '', isSeen: outlineStyle === 'solid' && outlineWidth === '2px' };
    })()`)) as { id: string; text: string; isSeen: boolean };
    if (text !== '' || id !== '') expect([id, text, isSeen]).toEqual([id, text, true]);
    if (isIt({ id, text })) return;
  }
  throw new Error('Tab does not reach it.');
}

const heading = (page: Page, text: string) => page.getByRole('heading', { level: 1, name: text }).waitFor();
const isLoaded = (page: Page, text: string) => page.getByText(text).first().waitFor();

describe.skipIf(!hasChromium)('an owner', () => {
  test('who clicks twice on the button makes one request, with scripts or without', async () => {
    for (const more of [{}, { isWithoutScripts: true }] as const) {
      const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let posts = 0;
      // The response to the first click is held back until the second one has arrived.
      const answered = async ({ method }: { method: string }) => {
        if (method !== 'POST') return;
        (++posts === 1 ? first : second).resolve();
        await second.promise;
      };
      const size = { width: 1280, colorScheme: 'light', ...more } as const;
      const { world, page, troubles } = await windowOn('/developers/keys/new', size, answered);
      await page.fill('#name', 'Badge bot');
      await page.fill('#description', DESCRIPTION);
      const button = page.getByRole('button', { name: 'Send the request' });
      await button.scrollIntoViewIfNeeded();
      const { x, y, width, height } = (await button.boundingBox()) as NonNullable<
        Awaited<ReturnType<typeof button.boundingBox>>
      >;
      const click = () => page.mouse.click(x + width / 2, y + height / 2);
      await click();
      await first.promise;
      await click();
      await isLoaded(page, 'Waiting for an admin.');
      expect([posts, keysListed(world.access, {}).length]).toEqual([2, 1]);
      expect(troubles.filter((text) => !text.startsWith('failed: '))).toEqual([]);
    }
  }, 60_000);

  test('corrects a refused request, renames and withdraws it, by keyboard alone, at 320 pixels and without scripts', async () => {
    const { world, page, troubles } = await windowOn('/developers/keys', {
      width: 320,
      colorScheme: 'dark',
      isWithoutScripts: true,
    });
    await heading(page, 'API keys');
    await press(page, 'Request a key');
    await heading(page, 'Request a key');
    const tooShort = 'Line one 😀\n\n<b>Line two</b>';
    await type(page, 'description', tooShort);
    await tabTo(page, ({ id }) => id === 'permissions-1');
    await page.keyboard.press('Space');
    await type(page, 'projectUrl', 'example');
    await type(page, 'expectedUsage', 'Now and then\n');
    await press(page, 'Send the request');
    await page.getByRole('alert').waitFor();
    expect(await page.title()).toBe('Error: Request a key – API keys – Profile Lookup');
    expect(await page.getByRole('alert').getByRole('link').count()).toBe(3);
    expect(await page.locator('#description').inputValue()).toBe(tooShort);
    expect(await page.locator('#projectUrl').inputValue()).toBe('example');
    expect(await page.locator('#expectedUsage').inputValue()).toBe('Now and then\n');
    expect(await page.locator('#permissions').isChecked()).toBe(true);
    expect(await page.locator('#permissions-1').isChecked()).toBe(true);
    // The summary links to the field.
    await press(page, 'Enter a name.');
    expect(await page.locator(':focus').getAttribute('id')).toBe('name');
    await page.keyboard.insertText('Badge bot');
    await type(page, 'description', DESCRIPTION);
    await type(page, 'projectUrl', 'example.org/badges');
    await press(page, 'Send the request');
    await isLoaded(page, 'Request sent.');
    await isLoaded(page, 'Waiting for an admin.');
    const [key] = keysListed(world.access, {});
    expect(key).toMatchObject({ state: 'pending', name: 'Badge bot', projectUrl: 'https://example.org/badges' });
    expect(key).toMatchObject({ expectedUsage: 'Now and then' });
    await press(page, 'Rename');
    await heading(page, 'Rename key “Badge bot”');
    await type(page, 'name', 'Böt');
    await page.keyboard.press('Enter');
    await isLoaded(page, 'Key renamed.');
    await press(page, 'Withdraw the request…');
    await heading(page, 'Withdraw the request for key “Böt”?');
    await press(page, 'Withdraw the request');
    await isLoaded(page, 'Request withdrawn.');
    await press(page, 'Request again');
    await heading(page, 'Request a key');
    expect(await page.locator('#name').inputValue()).toBe('Böt');
    expect(await page.locator('#description').inputValue()).toBe(DESCRIPTION);
    await press(page, 'Cancel');
    await heading(page, 'API keys');
    await isLoaded(page, '0 of 3 keys used');
    expect(troubles.filter((text) => !text.includes('422'))).toEqual([]);
  }, 60_000);

  test('sees the usage of an Active key, and how many characters a request for its replacement has, at 1280 pixels', async () => {
    const { world, page, troubles } = await windowOn('/developers', { width: 1280, colorScheme: 'light' });
    const { access } = world;
    const { identifier } = await issue(access, { profile: 'ada', name: 'Badge bot' });
    useKey(access, identifier, 5, 90);
    await page.getByRole('link', { name: 'Your API keys' }).click();
    await page.getByRole('link', { name: 'Badge bot' }).click();
    await isLoaded(page, 'The secret is only in the e-mail of');
    expect(await page.locator('svg rect.answered').count()).toBe(5);
    expect(await page.getByRole('row', { name: /^2025-12-30/ }).count()).toBe(0);
    await page.getByText('Show as a table').click();
    expect(await page.getByRole('row', { name: /^2025-12-30/ }).textContent()).toBe('2025-12-3030315');
    await page.getByRole('link', { name: 'Replace', exact: true }).click();
    await heading(page, 'Replace a key');
    // Characters are counted as on the server: in code points, without white space at the ends.
    await page.getByLabel('Name of the key', { exact: true }).fill('  Badge bot 😀 ');
    await page.getByLabel('What does your program do').fill(`  ${'😀'.repeat(20)} `);
    await isLoaded(page, '60 more characters needed');
    await page.getByLabel('What does your program do').fill('😀'.repeat(1_990));
    await isLoaded(page, '10 characters left');
    await page.getByLabel('What does your program do').fill('😀'.repeat(2_001));
    await isLoaded(page, '1 character too many');
    await page.getByLabel('What does your program do').fill(DESCRIPTION);
    expect(await page.locator('.count').allTextContents()).toEqual(['', '', '', '']);
    await page.getByRole('button', { name: 'Send the request' }).click();
    await isLoaded(page, 'Request sent.');
    const [successor] = keysListed(access, { states: ['pending'] });
    expect(successor).toMatchObject({ name: 'Badge bot 😀', successorOf: identifier });
    expect(troubles).toEqual([]);
  }, 60_000);
});
