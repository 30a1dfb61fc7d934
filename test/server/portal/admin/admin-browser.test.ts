import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { settleBackground } from '../../../../server/thread/background.ts';
import { addAdmin, inviteAdmin, unconfirmedPasskey } from '../../../../shared/admins/admins.ts';
import { rejectKey, revokeKey } from '../../../../shared/keys/life/lifecycle.ts';
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
import { drawHalf, seededRandom } from '../../../support/rounds.ts';

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
  // The next test enrols in a browser of today.
  test.each(
    drawHalf(
      [
        ['older than toJSON()', 'delete PublicKeyCredential.prototype.toJSON;'],
        [
          'whose password manager has no toJSON() that works',
          'PublicKeyCredential.prototype.toJSON = () => { throw new TypeError("Illegal invocation"); };',
        ],
      ] as const,
      seededRandom('browsers without toJSON()'),
    ),
  )(
    '%s enrols, is confirmed on the server, signs in, approves a request, sees its outcome, and the key works',
    async (which, script) => {
      const identifier = await request(access, { profile: 'ada' });
      world.clock.advance(1);
      const other = await request(access, { profile: 'ada' });
      const { page, troubles } = await enrolAndSignIn(`An admin ${which.length}`, script);
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
      revokeKey(access, { identifier, reason: null, by: onBox('root') });
      expect(troubles).toEqual([]);
    },
    60_000,
  );

  test('enrols, signs in, approves two requests together, and rejects a third, by keyboard alone', async () => {
    await importLines(access, [{ id: 12, username: 'cara', email: 'cara@example.org' }]);
    const keys = [
      await request(access, { profile: 'cara', name: 'First of two' }),
      await request(access, { profile: 'cara', name: 'Second of two' }),
    ];
    const third = await request(access, { profile: 'cara', name: 'Bot of the keyboard' });
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
    await press('Requests');
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    await press('Bot of the keyboard');
    await page.getByRole('heading', { name: 'Your decision' }).waitFor();
    await press('Reject…');
    await page.getByRole('heading', { name: 'Reject “Bot of the keyboard”?' }).waitFor();
    await tabTo(page, 'Reason');
    await keyboard.type('Say what the bot does.');
    await press('Reject with my passkey');
    await page.getByText('Rejected: Bot of the keyboard').waitFor();
    expect(showKey(access, third).state).toBe('rejected');
    expect(troubles).toEqual([]);
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
    // An authenticator without a passkey for this site, or a person who cancels.
    const { page } = await openWithPasskeys('/developers/admin/sign-in');
    await button(page, 'Sign in with a passkey').click();
    await page.getByRole('alert').getByText('No passkey was used').waitFor();
    expect(await page.getByText('Your browser is asking').isVisible()).toBe(false);
    expect(await button(page, 'Use a passkey').isEnabled()).toBe(true);
    // The same server under another name, where no passkey would be accepted.
    await page.goto(`${server.url}/developers/admin/sign-in`);
    await button(page, 'Sign in with a passkey').click();
    await page.getByRole('alert').getByText(`Passkeys work only at ${ORIGIN}`).waitFor();
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
    await page.addInitScript('delete window.PublicKeyCredential');
    await page.goto(`${ORIGIN}/developers/admin/sign-in`);
    await button(page, 'Sign in with a passkey').click();
    await page.getByRole('alert').getByText('This browser can’t use passkeys.').waitFor();
    const without = await openPage(`${ORIGIN}/developers/enrol`, { ...WIDE, isWithoutScripts: true });
    await without.page.getByText('Passkeys need JavaScript').waitFor();
  }, 60_000);
});

describe.skipIf(!hasChromium)('the pages for admins', () => {
  test('fit, narrow and dark, wide and light, axe finds no violations, and texts of people, passkeys and mail servers are text', async () => {
    const MARK = `"'></textarea></title><script>mark()</script><img src=x onerror=mark()>\u202e https://evil.example/`;
    await importLines(access, [{ id: 9, username: 'cleo', email: 'cleo@example.org' }]);
    const projectUrl = 'https://evil.example/?<script>mark()</script>';
    const asked = { profile: 'cleo', name: MARK, description: MARK.repeat(2), expectedUsage: MARK, projectUrl };
    const { identifier: old } = await issue(access, asked);
    useKey(access, old, 20);
    await issue(access, { profile: 'bea', name: `Long${'g'.repeat(56)}` });
    const pending = await request(access, { ...asked, successorOf: old });
    const { page, troubles } = await openAsAdmin('<script>mark()<img src=x>', '/developers/admin');
    const { address } = addAdmin(access, '<script>mark()<img src=y>', onBox('root'));
    const checkTexts = async () => {
      expect(await page.locator('img, main a[href*="evil"]').count()).toBe(0);
      expect(await page.evaluate('typeof mark')).toBe('undefined');
      expect(await page.locator('main').textContent()).toContain('<script>mark()');
      expect(await page.locator('footer').textContent()).toContain('Found a secret?');
    };
    const checkPage = async () => {
      await checkTexts();
      await expectUsable(page);
    };
    const goTo = (path: string) => page.goto(`${ORIGIN}/developers/admin${path}`);
    const decide = page.locator('#decide');
    await checkTexts();
    await page.locator(`button[name="reject"][value="${pending}"]`).click();
    await page.getByRole('heading', { name: 'Reject' }).waitFor();
    await checkTexts();
    for (const path of ['/keys?state=all', '/people', `/keys/${old}`]) {
      await goTo(path);
      await checkPage();
    }
    for (const path of ['/keys?find=%3Cscript%3Emark()', `/keys/${pending}`]) {
      await goTo(path);
      await checkTexts();
    }
    await decide.getByRole('button', { name: 'Reject…' }).click();
    await page.getByLabel('Reason').waitFor();
    await checkTexts();
    await button(page, 'Reject with my passkey').click();
    await page.getByRole('alert').waitFor();
    await checkPage();
    await goTo(`/keys/${old}`);
    await decide.getByRole('button', { name: 'Revoke…' }).click();
    await page.getByLabel('Reason').fill(MARK);
    await button(page, 'Revoke with my passkey').click();
    await page.getByText('Key revoked.').waitFor();
    await checkTexts();
    await goTo('/log?by=root');
    await expectUsable(page);
    await goTo('/log');
    await checkTexts();
    // A page with a form is checked once it was refused, when it has everything that it had at first, and more.
    await goTo(`/keys/${pending}`);
    await page.getByRole('group', { name: 'Rate limits' }).getByLabel('other', { exact: true }).check();
    await page.getByLabel('Rate limits: other').fill('many');
    await button(page, 'Approve…').click();
    await page.getByRole('alert').waitFor();
    await checkPage();
    await page.getByLabel('Rate limits: other').fill('60/1m');
    await button(page, 'Approve…').click();
    await checkPage();
    failures.rcpt = '550 5.1.1 <script>mark()</script><img src=x>';
    await button(page, 'Approve with my passkey').click();
    await page.getByText('with the secret was refused').first().waitFor();
    delete failures.rcpt;
    await checkPage();
    await goTo('/keys?find=nobody');
    await expectUsable(page);
    await goTo('/overview');
    await expectUsable(page);
    await page.goto(address);
    await expectUsable(page);
    await button(page, 'Continue').click();
    await page.getByLabel('Name of the passkey').waitFor();
    await checkPage();
    for (const path of ['/enrol/registered', '/admin/sign-in']) {
      await page.goto(`${ORIGIN}/developers${path}`);
      await expectUsable(page);
    }
    // A violation of the policy would be listed here.
    expect(troubles.filter((text) => !/422|ERR_ABORTED/.test(text))).toEqual([]);
  }, 120_000);
});
