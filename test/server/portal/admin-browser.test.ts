import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { addAdmin } from '../../../shared/admins.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { showKey } from '../../../shared/keys/view.ts';
import {
  addAuthenticator,
  addPasskey,
  expectUsable,
  type OpenPage,
  startBrowser,
  toolsOf,
} from '../../support/browser.ts';
import { hasChromium } from '../../support/chromium.ts';
import { request } from '../../support/keys.ts';
import { type SmtpFailures, startSmtp } from '../../support/mail.ts';
import { freePort } from '../../support/network.ts';
import { adminWorld, serverOfPages, signInAdmin } from '../../support/pages.ts';
import { linkFor } from '../../support/people.ts';
import { importLines } from '../../support/profiles.ts';
import { onBox } from '../../support/world.ts';

// The admins' pages in a real Chromium, whose virtual authenticator stores real passkeys.

const failures: SmtpFailures = {};
let gate = Promise.withResolvers<void>();
gate.resolve();
const smtp = await startSmtp({ failures, onMessage: () => gate.promise });
// Passkeys need a host name, and URLs in mails and pages include the port.
const port = freePort();
const ORIGIN = `http://localhost:${port}`;
const world = await adminWorld({ PUBLIC_URL: ORIGIN, MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.net' });
const { access } = world;
await importLines(access, [{ id: 8, username: 'bea', email: 'bea@example.org' }]);
const server = await serverOfPages(world, { port });
const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

const WIDE = { width: 1280, colorScheme: 'light' } as const;

/** Opens a path in a browser with a passkey authenticator that needs no person. */
async function openWithPasskeys(path: string) {
  const opened = await openPage(ORIGIN + path, WIDE);
  await addAuthenticator(await toolsOf(opened.page));
  return opened;
}

const button = (page: Page, name: string) => page.getByRole('button', { name });

/** Opens a path in the browser of a new admin, who is signed in and whose passkey it has. */
async function openAsAdmin(name: string, path: string) {
  const { cookie, authenticator } = await signInAdmin(world, name);
  const opened = await openPage(ORIGIN + path, { ...WIDE, cookie });
  await addPasskey(opened.page, authenticator);
  return opened;
}

/** Presses Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab');
    const names = await page.evaluate<string[]>(`(() => {
      const one = document.activeElement;
      return [one.textContent.trim(), one.labels?.[0]?.textContent, one.ariaLabel];
    })()`);
    if (names.includes(name)) return;
  }
  throw new Error(`Tab does not reach "${name}".`);
}

/** A password manager whose toJSON() fails, as that of an older browser does, which has none. */
const WITHOUT_JSON = 'PublicKeyCredential.prototype.toJSON = () => { throw new TypeError("Illegal invocation"); };';

let profiles = 100;

/** A new profile. */
async function newProfile(): Promise<string> {
  const username = `user${++profiles}`;
  await importLines(access, [{ id: profiles, username, email: `${username}@example.org` }]);
  return username;
}

describe.skipIf(!hasChromium)('an admin with a browser', () => {
  // Another test enrols in a browser of today.
  test('whose password manager has no toJSON() enrols, signs in, approves two requests together, and rejects a third, by keyboard alone', async () => {
    const profile = await newProfile();
    const keys = [
      await request(access, { profile, name: 'First of two' }),
      await request(access, { profile, name: 'Second of two' }),
    ];
    const third = await request(access, { profile, name: 'Bot of the keyboard' });
    const admin = 'An admin';
    const { address } = addAdmin(access, admin, onBox('root'));
    const { page, troubles } = await openWithPasskeys('/developers/found');
    await using _ = await page.addInitScript(WITHOUT_JSON);
    await page.goto(address);
    const { keyboard } = page;
    const press = async (name: string, key = 'Enter') => {
      await tabTo(page, name);
      await keyboard.press(key);
    };
    await press('Continue');
    await page.getByText('For the admin').waitFor();
    await tabTo(page, 'Name of the passkey');
    await keyboard.type('Blue key');
    await press('Create a passkey');
    await page.getByText('Your passkey is registered').first().waitFor();
    await expectUsable(page);
    await page.getByRole('heading', { name: 'Sign in as an admin' }).waitFor();
    await press('Sign in with a passkey');
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    await press(`Choose First of two of ${profile}`, 'Space');
    await press(`Choose Second of two of ${profile}`, 'Space');
    await press('Approve as requested');
    await page.getByText('2 mailed').first().waitFor();
    expect(keys.map((key) => showKey(access, key).state)).toEqual(['Active', 'Active']);
    await page.goto(`${ORIGIN}/developers/admin/keys/${third}`);
    await page.getByRole('heading', { name: 'Your decision' }).waitFor();
    await press('Reject…');
    await page.getByRole('heading', { name: 'Reject “Bot of the keyboard”?' }).waitFor();
    await tabTo(page, 'Reason');
    await keyboard.type('Say what the bot does.');
    await press('Reject it');
    await page.locator('#decided').getByText('rejected').first().waitFor();
    expect(showKey(access, third).state).toBe('rejected');
    expect(troubles).toEqual([]);
  }, 60_000);

  test('approves a request, and sees its outcome above the queue, which then no longer has it', async () => {
    const identifier = await request(access, { profile: 'ada' });
    world.clock.advance(1);
    const other = await request(access, { profile: 'ada' });
    const { page, troubles } = await openAsAdmin('Hopper', `/developers/admin/keys/${identifier}`);
    await page.getByLabel('in 90 days').check();
    gate = Promise.withResolvers();
    await button(page, 'Approve').click();
    const status = page.locator('#decided');
    await status.getByText('The e-mail is on its way.').waitFor();
    expect(await status.getByRole('link').getAttribute('href')).toBe(`/developers/admin/keys/${identifier}`);
    const [own, theirs] = [page.locator(`#row-${identifier}`), page.locator(`#row-${other}`)];
    await own.getByText('mailing').waitFor();
    await theirs.getByRole('checkbox').check();
    gate.resolve();
    // The page polls: outcome and list change together, and what is chosen stays.
    await status.getByText('The key is Active.').waitFor();
    expect([await own.count(), await theirs.getByRole('checkbox').isChecked()]).toEqual([0, true]);
    expect(await page.locator('#waiting').textContent()).toContain('1 request is waiting');
    // The bar counts anew; “, waiting: ” stays for screen readers alone.
    expect(await page.locator('.top .number').innerHTML()).toBe('<span class="unseen">, waiting: </span>1');
    moveAndNotify(access, 'reject', { identifier: other, reason: 'Not needed.', by: onBox('root') });
    expect(troubles).toEqual([]);
  }, 60_000);

  test('enrols with a mouse, and reads why a passkey can’t be used', async () => {
    // An authenticator without a passkey for this site, or a person who cancels.
    const { page } = await openWithPasskeys('/developers/admin/sign-in');
    await button(page, 'Sign in with a passkey').click();
    await page.getByRole('alert').getByText('No passkey was used').waitFor();
    expect(await page.getByText('Your browser is asking').isVisible()).toBe(false);
    expect(await button(page, 'Use a passkey').isEnabled()).toBe(true);
    await expectUsable(page);
    await page.goto(`${ORIGIN}/developers/enrol`);
    await page.getByText('This link is incomplete').waitFor();
    // There is nothing to continue with until the link is whole.
    expect(await button(page, 'Continue').isVisible()).toBe(false);
    await page.goto(`${ORIGIN}/developers/enrol#whole`);
    await button(page, 'Continue').waitFor();
    expect(await page.getByText('This link is incomplete').isVisible()).toBe(false);
    await expectUsable(page);
    // A device with a passkey of this admin does not create a second one, which would replace it.
    const name = '<script>mark()<img src=y>';
    await openPage(addAdmin(access, name, onBox('root')).address, WIDE);
    await addAuthenticator(await toolsOf(page));
    await button(page, 'Continue').click();
    await button(page, 'Create a passkey').click();
    await page.getByText('Your passkey is registered').first().waitFor();
    await page.goto(linkFor(access, name));
    await button(page, 'Continue').click();
    await button(page, 'Create a passkey').click();
    await page.getByRole('alert').getByText('This device already has a passkey for this admin').waitFor();
    await expectUsable(page);
    {
      await using _ = await page.addInitScript('delete window.PublicKeyCredential');
      await page.goto(`${ORIGIN}/developers/admin/sign-in`);
      await button(page, 'Sign in with a passkey').click();
      await page.getByRole('alert').getByText('This browser can’t use passkeys.').waitFor();
    }
    await openPage(`${ORIGIN}/developers/enrol`, { ...WIDE, isWithoutScripts: true });
    await page.getByText('Passkeys need JavaScript').waitFor();
    // The same server under another name, where no passkey would be accepted.
    await openPage(`${server.url}/developers/admin/sign-in`, WIDE);
    await button(page, 'Sign in with a passkey').click();
    await page.getByRole('alert').getByText(`Passkeys work only at ${ORIGIN}`).waitFor();
  }, 60_000);

  test('decides on requests, searches and filters the log without scripts', async () => {
    const { cookie } = await signInAdmin(world, 'Joan');
    const size = { width: 390, colorScheme: 'dark', isWithoutScripts: true } as const;
    const queue = `${ORIGIN}/developers/admin`;
    await request(access, { profile: await newProfile(), name: 'Bot without scripts' });
    const { page } = await openPage(`${queue}?choose=all`, { ...size, cookie });
    await button(page, 'Approve as requested').click();
    await page.locator('#decided').waitFor();
    await page.goto(queue);
    await page.getByRole('searchbox').fill('without');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
    await page.goto(`${queue}/log`);
    await page.getByLabel('Who').fill('root');
    await page.getByLabel('What').selectOption('admins');
    await button(page, 'Show').click();
    await page.getByText('added admin Joan').first().waitFor();
    expect(new URL(page.url()).searchParams.get('kind')).toBe('admins');
  }, 60_000);
});
