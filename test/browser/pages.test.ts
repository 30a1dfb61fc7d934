import { afterAll, describe, expect, test } from 'bun:test';
import type { Page, Route } from 'playwright-core';
import { addAdmin, findAdmin } from '../../shared/admins.ts';
import { DAY_MS } from '../../shared/clock.ts';
import { write } from '../../shared/db/write.ts';
import { editKey, moveAndNotify } from '../../shared/keys/life.ts';
import { showKey } from '../../shared/keys/view.ts';
import { invite } from '../../shared/sign-in/passkeys.ts';
import { useKey } from '../server/portal/stored.ts';
import { DESCRIPTION, issue, keyIn, keysListed, request, STATES_OF_ONE } from '../support/keys.ts';
import { startSmtp } from '../support/mail.ts';
import { freePort, testCertificate } from '../support/network.ts';
import { ADA, BEA, servePages, signInOwner } from '../support/pages.ts';
import { countRows } from '../support/people.ts';
import { importLines } from '../support/profiles.ts';
import { onBox } from '../support/world.ts';
import { hasChromium } from './chromium.ts';
import {
  AXE,
  addAuthenticator,
  expectUsable,
  keepCookie,
  type OpenPage,
  resize,
  startBrowser,
  toolsOf,
} from './window.ts';

// The pages in a real Chromium: every page is usable and shows what people wrote as text; what only a browser does (keyboard,
// scripts, passkeys); and no page of another origin changes anything. All tests share one window and one server.

/** Markup, ends of surrounding elements, bidirectional control characters and an astral character. */
const MARK = `"'></textarea></title></bdi><script>mark()</script><img src=x onerror=mark()><a href=//evil.example>x</a>\u202e\u2067 😀`;
const MARKED = {
  name: MARK,
  description: `${DESCRIPTION}\n${MARK}`,
  projectUrl: `https://example.org/?${MARK.replaceAll(/\s/g, '')}`,
  expectedUsage: MARK,
};

let gate = Promise.withResolvers<void>();
gate.resolve();
const smtp = await startSmtp({ onMessage: () => gate.promise });
// Passkeys need a host name, and URLs in mails and pages include the port.
const port = freePort();
const ORIGIN = `http://localhost:${port}`;
const world = await servePages(
  {
    PUBLIC_URL: ORIGIN,
    PUBLIC_NAME: '<script>mark()</script>',
    MAIL_URL: smtp.url,
    MAIL_FROM: 'keys@example.net',
  },
  { port },
);
const { access, clock, server } = world;
const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

const WIDE = { width: 1280, colorScheme: 'light' } as const;

let profiles = 100;

/** A new profile with this name, and the Cookie header of its owner. */
async function newOwner() {
  const username = `user${++profiles}`;
  await importLines(access, [{ id: profiles, username, email: `${username}@example.org` }]);
  return { username, cookie: signInOwner(access, profiles) };
}

/** Opens a path of the server in the window. */
const open = (path: string, cookie?: string) => openPage(ORIGIN + path, { ...WIDE, ...(cookie && { cookie }) });

/** Opens a path in a browser with a passkey authenticator that needs no person. */
async function openWithPasskeys(path: string) {
  const opened = await open(path);
  await addAuthenticator(await toolsOf(opened.page));
  return opened;
}

const button = (page: Page, name: string) => page.getByRole('button', { name });
const heading = (page: Page, text: string) => page.getByRole('heading', { level: 1, name: text }).waitFor();
const isLoaded = (page: Page, text: string) => page.getByText(text).first().waitFor();
const focused = (page: Page) => page.locator(':focus');

/** Presses Tab until the element with this id, text or label has the focus, which must be seen on everything before it. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab');
    const { names, isSeen } = await page.evaluate<{ names: string[]; isSeen: boolean }>(`(() => {
      const one = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(one);
      return {
        names: [one.id, one.textContent.trim(), one.labels?.[0]?.textContent.trim(), one.ariaLabel],
        isSeen: one === document.body || (outlineStyle === 'solid' && outlineWidth === '2px'),
      };
    })()`);
    expect([names, isSeen]).toEqual([names, true]);
    if (names.includes(name)) return;
  }
  throw new Error(`Tab does not reach "${name}".`);
}

/** Goes to an element by Tab, and presses Enter or another key. */
async function press(page: Page, name: string, key = 'Enter'): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press(key);
}

/** Goes to a field by Tab, and replaces its content. */
async function type(page: Page, field: string, text: string): Promise<void> {
  await press(page, field, 'Control+A');
  await page.keyboard.insertText(text);
}

/** What the browser said of a page's faults, without the statuses of pages that refuse a form or do not exist. */
const faultsIn = (troubles: string[]) => troubles.filter((text) => !/\b(422|404)\b/.test(text));

describe.skipIf(!hasChromium)('every page is usable, and shows what people wrote as text', async () => {
  if (!hasChromium) return;
  // Keys in every state; people have filled every text with the mark.
  const used = (await issue(access, { profile: 'ada', ...MARKED }, { expiresAtMs: clock.nowMs() + DAY_MS })).identifier;
  useKey(access, used, 20, 2_553);
  const rejected = await request(access, { profile: 'ada', ...MARKED });
  const long = { kind: 'admin', name: 'grace.brewster.murray.hopper@computing.example' } as const;
  moveAndNotify(access, 'reject', { identifier: rejected, reason: MARK, by: long });
  const pending = await request(access, { profile: 'ada', ...MARKED, successorOf: used });
  for (const state of STATES_OF_ONE) await keyIn(state, { ...access, clock }, BEA.username);
  const [ada, bea] = [signInOwner(access, ADA.id), signInOwner(access, BEA.id)];
  const grace = await world.signIn('Grace Brewster Murray Hopper');

  /** In the page: which texts of people it did not show as text, or turned the direction of what follows. */
  const RUN = `[
    ...document.querySelectorAll('main img, main a[href*="evil"]:not([rel="noreferrer noopener"])'),
    ...[...document.querySelectorAll('main *')].filter((one) => getComputedStyle(one).direction !== 'ltr' && one.localName !== 'bdi'),
  ].map((one) => one.outerHTML.slice(0, 120)).concat(typeof mark === 'undefined' ? [] : ['mark']).join('\\n')`;

  async function expectGood(page: Page): Promise<void> {
    expect([page.url(), await page.evaluate<string>(RUN)]).toEqual([page.url(), '']);
    await expectUsable(page);
  }

  /** Fills each text field of a page with the mark, sends its form, and expects it back, with the list of errors in focus. */
  async function expectFormBack(page: Page): Promise<void> {
    const fields = page.locator(
      'main form[method=post] :is(input:not([type=hidden], [type=checkbox], [type=radio]), textarea):visible',
    );
    for (let at = 0; at < (await fields.count()); at++) await fields.nth(at).fill(`\u0007${MARK}`);
    await page.locator('main form[method=post] button').first().click();
    await page.getByRole('alert').waitFor();
    expect(await focused(page).getAttribute('role')).toBe('alert');
    const kept = await fields.evaluateAll((all) => all.map((one) => (one as unknown as { value: string }).value));
    expect(kept).toEqual(kept.map(() => `\u0007${MARK}`));
    await expectGood(page);
  }

  /**
   * In the page: focuses each control in order and back, as Tab and Shift+Tab do, and returns those that other elements then hide
   * entirely, or whose middle a sticky bar hides. Focusing by script scrolls just as a key does, but takes a hundredth of the time.
   */
  const HIDDEN_IN_FOCUS = `(() => {
    const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')];
    const isSeen = (one) => {
      const { left, top, width, height } = one.getBoundingClientRect();
      const at = (x, y) => document.elementFromPoint(left + width * x, top + height * y);
      const bar = at(0.5, 0.5)?.closest('.top, .bar');
      return (!bar || bar.contains(one)) && [0.02, 0.5, 0.98].some((x) => [0.05, 0.5, 0.95].some((y) => {
        const found = at(x, y);
        return found !== null && (one.contains(found) || found.contains(one));
      }));
    };
    return [...all, ...all.reverse()].flatMap((one) => {
      one.focus();
      return document.activeElement !== one || isSeen(one) ? [] : [one.outerHTML.slice(0, 120)];
    });
  })()`;

  /** At 400 % zoom and on a phone, no sticky element hides the one that has the focus. */
  async function expectFocusSeen(page: Page): Promise<void> {
    for (const [width, height] of [
      [320, 256],
      [390, 844],
    ] as const) {
      await resize(page, width, height);
      expect([page.url(), width, ...(await page.evaluate<string[]>(HIDDEN_IN_FOCUS))]).toEqual([page.url(), width]);
    }
  }

  test('of visitors', async () => {
    const { page, troubles } = await openPage('about:blank', WIDE);
    await using _ = await page.addInitScript(AXE);
    for (const path of ['', '/sign-in/code', '/found', '/nothing', '/admin/sign-in']) {
      await page.goto(`${ORIGIN}/developers${path}`);
      await expectGood(page);
    }
    await page.goto(`${ORIGIN}/developers/sign-in`);
    await expectFormBack(page);
    await page.goto(addAdmin(access, '<img src=x onerror=mark()>', onBox('root')).address);
    await button(page, 'Continue').click();
    await button(page, 'Create a passkey').waitFor();
    await expectGood(page);
    expect(faultsIn(troubles)).toEqual([]);
  }, 120_000);

  test('of admins', async () => {
    const { page, troubles } = await open('/developers/found', grace.cookie);
    await using _ = await page.addInitScript(AXE);
    const go = (path: string) => page.goto(`${ORIGIN}/developers/admin${path}`);
    await go('?choose=all');
    await expectGood(page);
    await expectFocusSeen(page);
    for (const path of ['/people', '/log', '/overview', '/keys', `/keys/${used}`, `/keys/${rejected}`]) {
      await go(path);
      await expectGood(page);
    }
    await resize(page, 1280);
    await go(`/keys/${pending}`);
    await page.getByRole('group', { name: 'Rate limits' }).getByLabel('other', { exact: true }).check();
    await page.getByLabel('Limit 1: requests').fill(MARK);
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('alert').waitFor();
    await expectGood(page);
    await expectFocusSeen(page);
    expect(faultsIn(troubles)).toEqual([]);
  }, 120_000);

  test('of owners', async () => {
    const { page, troubles } = await open('/developers/found', ada);
    await using _ = await page.addInitScript(AXE);
    for (const path of ['/keys', `/keys/${used}`, `/keys/${rejected}`, '/sessions']) {
      await page.goto(`${ORIGIN}/developers${path}`);
      await expectGood(page);
    }
    for (const path of [`/keys/${used}/revoke`, `/keys/new?successor-of=${used}`]) {
      await page.goto(`${ORIGIN}/developers${path}`);
      await expectFormBack(page);
    }
    await expectFocusSeen(page);
    await importLines(access, [{ ...BEA, banned: true }]);
    await keepCookie(page.context(), bea, ORIGIN);
    await page.goto(`${ORIGIN}/developers/keys`);
    await expectGood(page);
    expect(faultsIn(troubles)).toEqual([]);
  }, 120_000);
});

describe.skipIf(!hasChromium)('an owner', () => {
  test('signs in, corrects a refused request, renames and withdraws it, and signs out, by keyboard alone, at 320 pixels and without scripts', async () => {
    const { username } = await newOwner();
    const narrow = { width: 320, colorScheme: 'dark', isWithoutScripts: true } as const;
    const { page, troubles } = await openPage(`${ORIGIN}/developers`, narrow);
    const { keyboard } = page;
    await keyboard.press('Tab');
    expect(await focused(page).textContent()).toBe('Skip to the content');
    await keyboard.press('Enter');
    await keyboard.press('Tab');
    expect(await focused(page).textContent()).toBe('Sign in');
    await keyboard.press('Enter');
    await heading(page, 'Sign in');
    // The first field of a new form, and the list of errors of a refused one, have the focus.
    await keyboard.insertText('Ädä <b>');
    await keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await page.title()).toStartWith('Error: Sign in – ');
    expect(await page.getByLabel('Username').inputValue()).toBe('Ädä <b>');
    expect(await focused(page).getAttribute('role')).toBe('alert');
    await press(page, 'Enter your e-mail address, such as name@example.org.');
    expect(await focused(page).getAttribute('id')).toBe('address');
    await keyboard.insertText(`${username}@example.org`);
    await page.getByLabel('Username').fill(username);
    await keyboard.press('Enter');
    // The only field of its page has the cursor.
    await heading(page, 'Check your mail');
    expect(await focused(page).getAttribute('id')).toBe('code');
    await keyboard.type(world.lastCode());
    await keyboard.press('Enter');
    await heading(page, 'API keys');
    await press(page, 'Request a key');
    await heading(page, 'Request a key');
    const tooShort = 'Line one 😀\n\n<b>Line two</b>';
    await type(page, 'description', tooShort);
    await press(page, 'permissions-1', 'Space');
    await type(page, 'projectUrl', 'example');
    await type(page, 'expectedUsage', 'Now and then\n');
    await press(page, 'Send the request');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').getByRole('link').count()).toBe(3);
    expect(await page.locator('#description').inputValue()).toBe(tooShort);
    expect(await page.locator('#expectedUsage').inputValue()).toBe('Now and then\n');
    expect(await page.locator('#permissions-1').isChecked()).toBe(true);
    await press(page, 'Enter a name.');
    await keyboard.insertText('Badge bot');
    await type(page, 'description', DESCRIPTION);
    await type(page, 'projectUrl', 'example.org/badges');
    await press(page, 'Send the request');
    await isLoaded(page, 'Request sent.');
    const [key] = keysListed(access, { profile: username });
    expect(key).toMatchObject({ state: 'pending', name: 'Badge bot', projectUrl: 'https://example.org/badges' });
    expect(key).toMatchObject({ expectedUsage: 'Now and then' });
    await press(page, 'Rename');
    await heading(page, 'Rename key “Badge bot”');
    await type(page, 'name', 'Böt');
    await keyboard.press('Enter');
    await isLoaded(page, 'Key renamed.');
    await press(page, 'Withdraw the request…');
    await heading(page, 'Withdraw the request for key “Böt”?');
    await press(page, 'Withdraw the request');
    await isLoaded(page, 'Request withdrawn.');
    // In a wide window, the menu is a list under the name, which closes once the focus is elsewhere.
    await resize(page, 1280);
    const menu = page.locator('summary', { hasText: username });
    await menu.press('Enter');
    expect(await page.getByRole('link', { name: 'Your sign-ins' }).isVisible()).toBe(true);
    for (let presses = 0; presses < 3; presses++) await keyboard.press('Tab');
    expect(await page.getByRole('link', { name: 'Your sign-ins' }).isVisible()).toBe(false);
    await menu.focus();
    await press(page, 'Sign out');
    await isLoaded(page, 'You are signed out.');
    expect(faultsIn(troubles)).toEqual([]);
  }, 60_000);

  test('is helped by scripts: characters are counted, times local, texts copied, and several clicks on a button send one request', async () => {
    const { username, cookie } = await newOwner();
    const address = `${ORIGIN}/developers/keys/new`;
    const { page, troubles } = await openPage(address, { ...WIDE, timezoneId: 'Asia/Tokyo', cookie });
    // Characters are counted as on the server: in code points, without white space at the ends.
    const description = page.getByLabel('What does your program do');
    await description.fill(`  ${'😀'.repeat(20)} `);
    await isLoaded(page, '60 more characters needed');
    await description.fill('😀'.repeat(1_990));
    await isLoaded(page, '10 characters left');
    await description.fill('😀'.repeat(2_001));
    await isLoaded(page, '1 character too many');
    await description.fill(DESCRIPTION);
    await page.getByLabel('Name of the key', { exact: true }).fill('  Badge bot 😀 ');
    expect(new Set(await page.locator('.count').allTextContents())).toEqual(new Set(['']));
    // The response to the first click is held back until another one is sent: the second of a double click is not.
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let posts = 0;
    await page.route('**', async (route) => {
      if (route.request().method() === 'POST') {
        (++posts === 1 ? first : second).resolve();
        await second.promise;
      }
      await route.continue();
    });
    const send = button(page, 'Send the request');
    await send.scrollIntoViewIfNeeded();
    const { x, y } = (await send.boundingBox()) as { x: number; y: number };
    await page.mouse.click(x + 5, y + 5);
    await first.promise;
    await page.mouse.click(x + 5, y + 5);
    await Bun.sleep(1_000);
    expect(posts).toBe(1);
    await page.mouse.click(x + 5, y + 5);
    await isLoaded(page, 'Waiting for an admin.');
    await page.unroute('**');
    const keys = keysListed(access, { profile: username });
    expect([posts, keys.map(({ name }) => name)]).toEqual([2, ['Badge bot 😀']]);
    expect(troubles.filter((text) => !text.startsWith('failed: '))).toEqual([]);
    const identifier = keys[0]?.identifier as string;
    const own = `${ORIGIN}/developers/keys/${identifier}`;

    await page.goto(own);
    expect(await page.locator('.log time').first().getAttribute('title')).toBe('2026-01-01 09:00');
    expect(await page.locator('#zone').textContent()).toBe(' · times in Asia/Tokyo');
    await button(page, 'Copy the identifier').click();
    await button(page, 'Copied the identifier').waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(identifier);
    const menu = page.locator('summary', { hasText: username });
    const link = page.getByRole('link', { name: 'Your sign-ins' });
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

    // The pressed button shows that the form is being sent, until the visitor comes back.
    await page.goto(`${own}/rename`);
    const said = await page.evaluate<string>(
      "(() => { const button = document.querySelector('main button'); button.click(); return button.textContent; })()",
    );
    expect(said).toBe('Sending…');
    await page.waitForURL(own);
    await page.goBack();
    expect(await page.locator('main button').textContent()).toBe('Rename');
    // Also of a button that was pressed twice.
    const texts = await page.evaluate<string[]>(`(() => {
      addEventListener('submit', (event) => event.preventDefault());
      const button = document.querySelector('main button');
      button.click();
      button.click();
      const sending = button.textContent;
      dispatchEvent(new Event('pagehide'));
      return [sending, button.textContent];
    })()`);
    expect(texts).toEqual(['Sending…', 'Rename']);
  }, 60_000);
});

/** A password manager whose toJSON() fails, as that of an older browser does, which has none. */
const WITHOUT_JSON = 'PublicKeyCredential.prototype.toJSON = () => { throw new TypeError("Illegal invocation"); };';

describe.skipIf(!hasChromium)('an admin', () => {
  // Another test enrols in a browser of today.
  test('whose password manager has no toJSON() enrols, signs in, approves two requests together, and rejects a third, by keyboard alone', async () => {
    const profile = (await newOwner()).username;
    const keys = [
      await request(access, { profile, name: 'First of two' }),
      await request(access, { profile, name: 'Second of two' }),
    ];
    const third = await request(access, { profile, name: 'Bot of the keyboard' });
    const { address } = addAdmin(access, 'An admin', onBox('root'));
    const { page, troubles } = await openWithPasskeys('/developers/found');
    await using _ = await page.addInitScript(WITHOUT_JSON);
    await page.goto(address);
    await press(page, 'Continue');
    await isLoaded(page, 'For the admin');
    await type(page, 'Name of the passkey', 'Blue key');
    await press(page, 'Create a passkey');
    await isLoaded(page, 'Your passkey is registered');
    await heading(page, 'Sign in as an admin');
    await press(page, 'Sign in with a passkey');
    await heading(page, 'Requests');
    await press(page, `Choose First of two of ${profile}`, 'Space');
    await press(page, `Choose Second of two of ${profile}`, 'Space');
    await press(page, 'Approve as requested');
    await isLoaded(page, '2 mailed');
    expect(keys.map((key) => showKey(access, key).state)).toEqual(['Active', 'Active']);
    await page.goto(`${ORIGIN}/developers/admin/keys/${third}`);
    await press(page, 'Reject…');
    await heading(page, 'Reject “Bot of the keyboard”?');
    await type(page, 'Reason', 'Say what the bot does.');
    await press(page, 'Reject it');
    await page.locator('#decided').getByText('rejected').first().waitFor();
    expect(showKey(access, third).state).toBe('rejected');
    expect(troubles).toEqual([]);
  }, 60_000);

  test('decides nothing by Enter on a field', async () => {
    const identifier = await request(access, { profile: (await newOwner()).username });
    const { cookie } = await world.signIn('Mary');
    const { page, requests } = await open('/developers/admin', cookie);
    await page.locator(`#row-${identifier}`).getByRole('checkbox').press('Enter');
    await page.goto(`${ORIGIN}/developers/admin/keys/${identifier}`);
    await page.getByLabel('in 90 days').press('Enter');
    await page.goto(`${ORIGIN}/developers/admin`);
    expect(requests.filter((url) => url.endsWith('/decide'))).toEqual([]);
    moveAndNotify(access, 'withdraw', { identifier, by: onBox('root') });
  }, 60_000);

  test('approves a request, and sees its outcome above the queue, which then no longer has it', async () => {
    const profile = (await newOwner()).username;
    const identifier = await request(access, { profile });
    clock.advance(1);
    const other = await request(access, { profile });
    const { cookie } = await world.signIn('Hopper');
    const { page, troubles } = await open(`/developers/admin/keys/${identifier}`, cookie);
    await page.getByLabel('in 90 days').check();
    gate = Promise.withResolvers();
    await button(page, 'Approve').click();
    const status = page.locator('#decided');
    await status.getByText('The e-mail is on its way.').waitFor();
    expect(await status.getByRole('link').getAttribute('href')).toBe(`/developers/admin/keys/${identifier}`);
    const [own, theirs] = [page.locator(`#row-${identifier}`), page.locator(`#row-${other}`)];
    await own.getByText('mailing').waitFor();
    await theirs.getByRole('checkbox').check();
    const waiting = async () => Number.parseInt((await page.locator('#waiting').textContent()) ?? '', 10);
    const before = await waiting();
    expect(before).toBeGreaterThan(1);
    // A proxy answers while the server restarts.
    const failed = Promise.withResolvers<void>();
    const refuse = (route: Route) => route.fulfill({ status: 502, contentType: 'text/html', body: 'Bad Gateway' });
    await page.route('**', (route) => refuse(route).then(failed.resolve), { times: 1 });
    await failed.promise;
    gate.resolve();
    // The page polls: outcome, list and their number change together, and what is chosen stays.
    await status.getByText('The key is Active.').waitFor();
    expect([await own.count(), await theirs.getByRole('checkbox').isChecked()]).toEqual([0, true]);
    expect(await waiting()).toBe(before - 1);
    expect(await page.title()).toStartWith(`(${before - 1}) Requests`);
    // The bar counts anew; “, waiting: ” stays for screen readers alone.
    const number = `<span class="unseen">, waiting: </span>${before - 1}`;
    expect(await page.locator('.top .number').innerHTML()).toBe(number);
    // The page of a key shows its new state, too, also that which refused another approval meanwhile.
    gate = Promise.withResolvers();
    const path = `/developers/admin/keys/${other}`;
    const late = await page.context().newPage();
    await late.goto(ORIGIN + path);
    await button(page, 'Approve as requested').click();
    await status.getByText('The e-mail is on its way.').waitFor();
    await page.goto(`${ORIGIN}${path}`);
    await page.locator('#state').getByText('pending').waitFor();
    await button(late, 'Approve').click();
    await late.getByRole('alert').waitFor();
    editKey(access, { identifier: other, name: 'Renamed meanwhile', by: onBox('root') });
    gate.resolve();
    for (const one of [page, late]) {
      await one.getByRole('heading', { name: 'Change this key' }).waitFor();
      await heading(one, 'Renamed meanwhile');
      expect(await one.locator('#state').textContent()).toBe('Activeuntil revoked');
      expect(await one.getByRole('alert').count()).toBe(0);
    }
    expect(troubles.filter((text) => !/\b502\b/.test(text))).toEqual([]);
  }, 60_000);

  test('enrols with a mouse, and reads why a passkey can’t be used', async () => {
    // An authenticator without a passkey for this site, or a person who cancels.
    const { page } = await openWithPasskeys('/developers/admin/sign-in');
    await button(page, 'Sign in with a passkey').click();
    await page.getByRole('alert').getByText('No passkey was used').waitFor();
    expect(await page.getByText('Your browser is asking').isVisible()).toBe(false);
    expect(await button(page, 'Use a passkey').isEnabled()).toBe(true);
    await page.goto(`${ORIGIN}/developers/enrol`);
    await page.getByText('This link is incomplete').waitFor();
    // There is nothing to continue with until the link is whole.
    expect(await button(page, 'Continue').isVisible()).toBe(false);
    await page.goto(`${ORIGIN}/developers/enrol#whole`);
    await button(page, 'Continue').waitFor();
    expect(await page.getByText('This link is incomplete').isVisible()).toBe(false);
    // A device with a passkey of this admin does not create a second one, which would replace it.
    const name = '<script>mark()<img src=y>';
    const { address } = addAdmin(access, name, onBox('root'));
    const again = write(access.db, (tx) => invite(tx, access, findAdmin(tx, name)));
    for (const [at, said] of [
      [address, 'Your passkey is registered'],
      [again.address, 'This device already has a passkey for this admin'],
    ] as const) {
      await page.goto('about:blank');
      await page.goto(at);
      await button(page, 'Continue').click();
      await button(page, 'Create a passkey').click();
      await isLoaded(page, said);
    }
    {
      await using _ = await page.addInitScript('delete window.PublicKeyCredential');
      await page.goto(`${ORIGIN}/developers/admin/sign-in`);
      await button(page, 'Sign in with a passkey').click();
      await page.getByRole('alert').getByText('This browser can’t use passkeys.').waitFor();
    }
    // The same server under another name, where no passkey would be accepted.
    await page.goto(`${server.url}/developers/admin/sign-in`);
    await button(page, 'Sign in with a passkey').click();
    await page.getByRole('alert').getByText(`Passkeys work only at ${ORIGIN}`).waitFor();
  }, 60_000);
});

describe.skipIf(!hasChromium)('no page of another origin changes anything', async () => {
  if (!hasChromium) return;
  // Chromium says where a form is from only over HTTPS. Users of the platform have other hosts of the service's site.
  const { certFile, keyFile, cert, key } = testCertificate();
  const securePort = freePort();
  const own = `https://dev.bio.example:${securePort}`;
  const secure = await servePages(
    { PUBLIC_URL: own, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile },
    { port: securePort },
  );
  // Serves an empty page, in which the test does what a foreign page could do.
  const elsewhere = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls: { cert, key },
    fetch: () => new Response('<!doctype html><title>Elsewhere</title>', { headers: { 'Content-Type': 'text/html' } }),
  });
  afterAll(() => elsewhere.stop(true));
  const livingSessions = () => countRows(secure.access.db, 'sign_ins');
  // Other tests try all forms with the headers that a browser sends.
  const forms = [`${own}/developers/sign-out`, `${own}/developers/sessions/end-all`];

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

  test('from a sibling host or a foreign one, by form and by fetch, with and without a session', async () => {
    const { page } = await openPage('about:blank', WIDE);
    const before = livingSessions();
    for (const origin of ['https://ada.bio.example', 'https://evil.example'].map((one) => `${one}:${elsewhere.port}`)) {
      await page.context().clearCookies();
      await page.goto(origin);
      const [answer] = await Promise.all([
        page.waitForNavigation(),
        page.evaluate(
          `document.body.innerHTML = '<form method="post" action="${own}/developers/sign-in">'; document.forms[0].submit()`,
        ),
      ]);
      expect([origin, answer?.status()]).toEqual([origin, 403]);
      await keepCookie(page.context(), secure.cookie, own);
      await page.goto(origin);
      for (const send of [SUBMIT_INTO_FRAMES, SEND_ALL]) {
        const asked = secure.server.log.length;
        await page.evaluate(`(${send})(${JSON.stringify(forms)})`);
        // The page can't read the statuses; the log has them.
        const answered = secure.server.log.slice(asked).filter(({ method }) => method === 'POST');
        expect(answered.map(({ status }) => status)).toEqual(forms.map(() => 403));
      }
      expect(livingSessions()).toEqual(before);
    }
    // A form of our own page works.
    await page.goto(`${own}/developers/sessions`);
    await page.getByText('ada', { exact: true }).click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await isLoaded(page, 'You are signed out.');
    expect(livingSessions()).toBe(0);
  }, 60_000);
});
