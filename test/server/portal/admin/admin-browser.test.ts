import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { settleBackground } from '../../../../server/thread/background.ts';
import { addAdmin, inviteAdmin, unconfirmedPasskey } from '../../../../shared/admins/admins.ts';
import { rejectKey } from '../../../../shared/keys/life/lifecycle.ts';
import { showKey } from '../../../../shared/keys/view.ts';
import { confirmPasskey } from '../../../../shared/passkeys/passkeys.ts';
import type { Signed } from '../../../../shared/sessions-file/whose.ts';
import { onBox } from '../../../support/actors.ts';
import { importLines } from '../../../support/import.ts';
import { issue, request } from '../../../support/keys.ts';
import { type SmtpFailures, startSmtp } from '../../../support/mail/smtp.ts';
import { freePort } from '../../../support/network/proxy.ts';
import { adminToSign } from '../../../support/portal/access.ts';
import { adminWorld, signInAdmin } from '../../../support/portal/admin-pages.ts';
import { enrol } from '../../../support/portal/admins.ts';
import {
  addAuthenticator,
  addPasskey,
  keepCookie,
  type OpenPage,
  startBrowser,
  toolsOf,
} from '../../../support/portal/browser.ts';
import { hasChromium } from '../../../support/portal/chromium.ts';
import { expectUsable } from '../../../support/portal/looking.ts';
import { call, personTokenFor } from '../../../support/portal/manage.ts';
import { useKey } from '../../../support/portal/owner-pages.ts';
import { serverOfPages } from '../../../support/portal/pages.ts';

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

/** Opens a path in a browser with a passkey authenticator that needs no person. `script` runs before those of each page. */
async function openWithPasskeys(path: string, script = '') {
  const { page, troubles } = await openPage('about:blank', WIDE);
  await page.addInitScript(script);
  await addAuthenticator(await toolsOf(page));
  await page.goto(ORIGIN + path);
  return { page, troubles };
}

const button = (page: Page, name: string) => page.getByRole('button', { name });

const confirm = (name: string) => confirmPasskey(access, unconfirmedPasskey(access, name).passkey.id, onBox('root'));

/** Registers a passkey by an admin's link, confirms it as root, and signs in. */
async function enrolAndSignIn(name: string, script = '') {
  const { address } = addAdmin(access, name, onBox('root'));
  const { page, troubles } = await openWithPasskeys(address.slice(ORIGIN.length), script);
  await button(page, 'Continue').click();
  await page.getByLabel('Name of the passkey').fill('Laptop');
  await button(page, 'Create a passkey').click();
  await page.getByText('Your passkey is registered').first().waitFor();
  confirm(name);
  await page.getByRole('link', { name: 'sign in', exact: true }).click();
  await button(page, 'Sign in with a passkey').click();
  await page.getByRole('heading', { name: 'Requests' }).waitFor();
  return { page, troubles };
}

/** Opens a path in the browser of a new admin, who is signed in and whose passkey it has. */
async function openAsAdmin(name: string, path: string) {
  const { cookie, authenticator } = await signInAdmin(world, name);
  const { page, troubles } = await openPage('about:blank', WIDE);
  await keepCookie(page.context(), cookie, ORIGIN);
  await addPasskey(page, authenticator);
  await page.goto(ORIGIN + path);
  return { page, troubles };
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

describe.skipIf(!hasChromium)('an admin with a browser', () => {
  test.each([
    ['older than toJSON()', 'delete PublicKeyCredential.prototype.toJSON;'],
    [
      'whose password manager has no toJSON() that works',
      'PublicKeyCredential.prototype.toJSON = () => { throw new TypeError("Illegal invocation"); };',
    ],
  ])('%s enrols and signs in', async (which, script) => {
    const { troubles } = await enrolAndSignIn(`An admin ${which.length}`, script);
    expect(troubles).toEqual([]);
  });

  test('enrols, is confirmed on the server, signs in, approves a request, sees its outcome, and the key works', async () => {
    const identifier = await request(access, { profile: 'ada' });
    world.clock.advance(1);
    const other = await request(access, { profile: 'ada' });
    const { page, troubles } = await enrolAndSignIn('Grace');
    await page.goto(`${ORIGIN}/developers/admin/keys/${identifier}`);
    await page.getByLabel('in 90 days').check();
    await button(page, 'Approve…').click();
    await page.getByText('ada@example.org').waitFor();
    gate = Promise.withResolvers();
    await button(page, 'Approve with my passkey').click();
    // Grace continues with the next request; its page says how this one ended.
    const status = page.locator('#decided');
    await status.getByText('The e-mail is on its way.').waitFor();
    expect(await status.getByRole('link').getAttribute('href')).toBe(`/developers/admin/keys/${identifier}`);
    const limits = page.getByLabel('Rate limits: other');
    await page.getByRole('group', { name: 'Rate limits' }).getByLabel('other', { exact: true }).check();
    await limits.fill('7/1m');
    gate.resolve();
    // The page polls, and shows the outcome where screen readers announce it; typed text stays.
    await status.getByText('The key is Active.').waitFor();
    expect([new URL(page.url()).pathname, await limits.inputValue()]).toEqual([
      `/developers/admin/keys/${other}`,
      '7/1m',
    ]);
    rejectKey(access, { identifier: other, reason: 'Not needed.', by: onBox('root') });
    const raw = smtp.received.map((mail) => mail.raw).join('');
    const [secret = ''] = new RegExp(`plk_${identifier}_[0-9A-Za-z]{38}`).exec(raw) ?? [];
    const answer = await fetch(`${server.url}/api/lookup/username/ada`, {
      headers: { Authorization: `Bearer ${secret}` },
    });
    expect([answer.status, showKey(access, identifier).state]).toEqual([200, 'Active']);
    expect(troubles).toEqual([]);
  }, 60_000);

  test('enrols, signs in, and approves two requests together, by keyboard alone', async () => {
    await importLines(access, [{ id: 12, username: 'cara', email: 'cara@example.org' }]);
    const keys = [
      await request(access, { profile: 'cara', name: 'First of two' }),
      await request(access, { profile: 'cara', name: 'Second of two' }),
    ];
    const { page, troubles } = await openWithPasskeys(
      addAdmin(access, 'Keller', onBox('root')).address.slice(ORIGIN.length),
    );
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
    confirm('Keller');
    await press('sign in');
    await page.getByRole('heading', { name: 'Sign in as an admin' }).waitFor();
    await press('Sign in with a passkey');
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    await press('Select First of two', 'Space');
    await press('Select Second of two', 'Space');
    await press('Approve as requested…');
    await page.getByRole('heading', { name: 'Approve 2 requests?' }).waitFor();
    await press('Approve with my passkey');
    await page.getByText('2 of 2 mailed').first().waitFor();
    expect(keys.map((key) => showKey(access, key).state)).toEqual(['Active', 'Active']);
    expect(troubles).toEqual([]);
  }, 60_000);

  test('rejects a request by keyboard alone', async () => {
    const identifier = await request(access, { profile: 'ada', name: 'Bot of the keyboard' });
    const { page } = await openAsAdmin('Hopper', '/developers/admin');
    const { keyboard } = page;
    await tabTo(page, 'Bot of the keyboard');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your decision' }).waitFor();
    await tabTo(page, 'Reject…');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Reject “Bot of the keyboard”?' }).waitFor();
    await tabTo(page, 'Reason');
    await keyboard.type('Say what the bot does.');
    await tabTo(page, 'Reject with my passkey');
    await keyboard.press('Enter');
    await page.getByText('Rejected: Bot of the keyboard').waitFor();
    expect(showKey(access, identifier).state).toBe('rejected');
  }, 60_000);

  test('opens a link of profilectl while signed out, sees what it sets, types a reason, and decides by passkey only', async () => {
    await importLines(access, [{ id: 10, username: 'dora', email: 'dora@example.org' }]);
    const identifier = await request(access, { profile: 'dora' });
    const passkey = await enrol(access, 'Lovelace');
    const token = personTokenFor(access, adminToSign(access, 'Lovelace') as Signed);
    const answer = await call(server, `/manage/v1/keys/${identifier}/approve`, token, { method: 'POST' });
    const { address } = (await answer.json()) as { address: string };
    const { page, troubles } = await openPage('about:blank', WIDE);
    await addPasskey(page, passkey);
    const script = encodeURIComponent('<script>mark()</script><img src=x onerror=mark()>');
    const link = `${address}?operation=approve&rateLimits=7/1m,70/1h&expires=${script}`;
    await page.goto(link);
    await button(page, 'Sign in with a passkey').click();
    // A malformed value is refused at its field, and does not become markup.
    await page.getByRole('alert').getByText('The expiry must be').waitFor();
    expect([await page.evaluate('typeof mark'), await page.locator('img').count()]).toEqual(['undefined', 0]);
    await expectUsable(page);
    await page.goto(link.replace(script, '2026-12-31'));
    await page.getByText('The link that you followed').waitFor();
    expect(await page.getByText('Set by a link').count()).toBe(2);
    await expectUsable(page);
    expect(await page.getByLabel('Rate limits: other').inputValue()).toBe('7/1m,70/1h');
    expect(showKey(access, identifier).attempt).toBeNull();
    await button(page, 'Approve…').click();
    for (const part of ['dora@example.org', '2026-12-31 00:00', '70/1h']) {
      await page.getByText(part).first().waitFor();
    }
    expect(showKey(access, identifier).attempt).toBeNull();
    await button(page, 'Approve with my passkey').click();
    await page.getByText('Approved: Bot').waitFor();
    await settleBackground(world.services.background);
    expect(showKey(access, identifier)).toMatchObject({ state: 'Active', expiresAt: '2026-12-31T00:00:00.000Z' });
    await page.goto(`${address}?operation=revoke&reason=Typed%20elsewhere`);
    await page.locator('#decide').getByRole('button', { name: 'Revoke…' }).click();
    expect(await page.getByLabel('Reason').inputValue()).toBe('');
    await page.getByLabel('Reason').fill('It leaked.');
    await button(page, 'Revoke with my passkey').click();
    await page.getByText('Key revoked.').waitFor();
    expect(showKey(access, identifier).state).toBe('revoked');
    expect(troubles).toEqual([]);
  }, 60_000);

  test('reads why a passkey can’t be used', async () => {
    const { page } = await openPage(`${ORIGIN}/developers/admin/sign-in`, WIDE);
    await page.addInitScript('delete window.PublicKeyCredential');
    await button(page, 'Sign in with a passkey').click();
    await page.getByRole('alert').getByText('This browser can’t use passkeys.').waitFor();
    await page.goto(`${ORIGIN}/developers/enrol`);
    await page.getByText('This link is incomplete').waitFor();
    // There is nothing to continue with until the link is whole.
    expect(await button(page, 'Continue').isVisible()).toBe(false);
    await page.goto(`${ORIGIN}/developers/enrol#whole`);
    await button(page, 'Continue').waitFor();
    expect(await page.getByText('This link is incomplete').isVisible()).toBe(false);
    // A device with a passkey of this admin does not create a second one, which would replace it.
    const passkey = await enrol(access, 'Turing');
    const { page: known } = await openPage('about:blank', WIDE);
    await addPasskey(known, passkey);
    await known.goto(inviteAdmin(access, 'Turing', { keepPasskeys: true }, onBox('root')).address);
    await button(known, 'Continue').click();
    await button(known, 'Create a passkey').click();
    await known.getByRole('alert').getByText('This device already has a passkey for this admin').waitFor();
    // An authenticator without a passkey for this site, or a person who cancels.
    const { page: empty } = await openWithPasskeys('/developers/admin/sign-in');
    await button(empty, 'Sign in with a passkey').click();
    await empty.getByRole('alert').getByText('No passkey was used').waitFor();
    expect(await empty.getByText('Your browser is asking').isVisible()).toBe(false);
    expect(await button(empty, 'Use a passkey').isEnabled()).toBe(true);
    const without = await openPage(`${ORIGIN}/developers/enrol`, { ...WIDE, isWithoutScripts: true });
    await without.page.getByText('Passkeys need JavaScript').waitFor();
    // The same server under another name, where no passkey would be accepted.
    const { page: other } = await openPage(`${server.url}/developers/admin/sign-in`, WIDE);
    await button(other, 'Sign in with a passkey').click();
    await other.getByRole('alert').getByText(`Passkeys work only at ${ORIGIN}`).waitFor();
  }, 60_000);
});

describe.skipIf(!hasChromium)('the pages for admins are accessible', () => {
  test('axe finds no violations and nothing is cut off, narrow and dark, wide and light', async () => {
    const { identifier: used } = await issue(access, { profile: 'bea', name: `Long${'g'.repeat(56)}` });
    useKey(access, used, 20);
    const pending = await request(access, { profile: 'bea', successorOf: used });
    const { page, troubles } = await openAsAdmin('Ada Lovelace', '/developers/admin');
    const { address } = inviteAdmin(access, 'Hopper', { keepPasskeys: true }, onBox('root'));
    const checkPage = () => expectUsable(page);
    const key = `${ORIGIN}/developers/admin/keys/${pending}`;
    await checkPage();
    const lists = ['/keys?state=all&find=bea', '/keys?find=nobody', '/people', '/log?by=root', '/overview'];
    for (const path of [...lists, `/keys/${used}`]) {
      await page.goto(`${ORIGIN}/developers/admin${path}`);
      await checkPage();
    }
    await page.goto(key);
    await checkPage();
    await page.locator('#decide').getByRole('button', { name: 'Reject…' }).click();
    await page.getByLabel('Reason').waitFor();
    await checkPage();
    await button(page, 'Reject with my passkey').click();
    await page.getByRole('alert').waitFor();
    await checkPage();
    await page.goto(key);
    await page.getByRole('group', { name: 'Rate limits' }).getByLabel('other', { exact: true }).check();
    await page.getByLabel('Rate limits: other').fill('many');
    await button(page, 'Approve…').click();
    await checkPage();
    await page.getByLabel('Rate limits: other').fill('60/1m');
    await button(page, 'Approve…').click();
    await checkPage();
    failures.rcpt = '550 5.1.1 no such mailbox';
    await button(page, 'Approve with my passkey').click();
    await page.getByText('with the secret was refused').first().waitFor();
    delete failures.rcpt;
    await checkPage();
    await page.goto(address);
    await checkPage();
    await button(page, 'Continue').click();
    await checkPage();
    for (const path of ['/enrol/registered', '/admin/sign-in']) {
      await page.goto(`${ORIGIN}/developers${path}`);
      await checkPage();
    }
    expect(troubles.filter((text) => !/422|ERR_ABORTED/.test(text))).toEqual([]);
  }, 120_000);

  test('texts of people, passkeys and mail servers are shown as text on every page, and never run', async () => {
    const MARK = `"'></textarea></title><script>mark()</script><img src=x onerror=mark()>\u202e https://evil.example/`;
    await importLines(access, [{ id: 9, username: 'cleo', email: 'cleo@example.org' }]);
    const projectUrl = 'https://evil.example/?<script>mark()</script>';
    const asked = { profile: 'cleo', name: MARK, description: MARK.repeat(2), expectedUsage: MARK, projectUrl };
    const { identifier: old } = await issue(access, asked);
    const pending = await request(access, { ...asked, successorOf: old });
    const { page, troubles } = await openAsAdmin('<script>mark()<img src=x>', '/developers/admin');
    const checkPage = async () => {
      expect(await page.locator('img, main a[href*="evil"]').count()).toBe(0);
      expect(await page.evaluate('typeof mark')).toBe('undefined');
      expect(await page.locator('main').textContent()).toContain('<script>mark()');
      expect(await page.locator('footer').textContent()).toContain('Found a secret?');
    };
    const goTo = (path: string) => page.goto(`${ORIGIN}/developers/admin${path}`);
    await checkPage();
    for (const path of ['/keys', '/keys?find=%3Cscript%3Emark()', '/people', `/keys/${old}`, `/keys/${pending}`]) {
      await goTo(path);
      await checkPage();
    }
    await goTo('');
    await page.locator(`button[name="reject"][value="${pending}"]`).click();
    await page.getByRole('heading', { name: 'Reject' }).waitFor();
    await checkPage();
    await goTo(`/keys/${pending}`);
    await button(page, 'Reject…').click();
    await page.getByRole('heading', { name: 'Reject' }).waitFor();
    await checkPage();
    await goTo(`/keys/${old}`);
    await button(page, 'Revoke…').click();
    await page.getByLabel('Reason').fill(MARK);
    await button(page, 'Revoke with my passkey').click();
    await page.getByText('Key revoked.').waitFor();
    await checkPage();
    await goTo('/log');
    await checkPage();
    failures.rcpt = '550 5.1.1 <script>mark()</script><img src=x>';
    await goTo(`/keys/${pending}`);
    await button(page, 'Approve…').click();
    await button(page, 'Approve with my passkey').click();
    await page.getByText('with the secret was refused').first().waitFor();
    delete failures.rcpt;
    await checkPage();
    // A violation of the policy would be listed here.
    expect(troubles.filter((text) => !/ERR_ABORTED/.test(text))).toEqual([]);
  }, 60_000);
});
