import { describe, expect, test } from 'bun:test';
import { settleBackground } from '../../../../server/background.ts';
import { openLimits } from '../../../../shared/limits/one-thread.ts';
import { issue, mails } from '../../../support/keys.ts';
import { type OpenPage, startBrowser } from '../../../support/portal/browser.ts';
import { hasChromium } from '../../../support/portal/chromium.ts';
import { ADA, ownerWorld, useKey } from '../../../support/portal/owner-pages.ts';
import { personAt } from '../../../support/portal/pace.ts';
import { serverOfPages } from '../../../support/portal/pages.ts';

// How long an owner with a phone needs for usual tasks, estimated from what they read, type and tap.

const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;
const PHONE = { width: 390, height: 844, colorScheme: 'light' } as const;

describe.skipIf(!hasChromium)('an owner with a phone', () => {
  test('requests a key in less than 3 minutes, from the start page to the page of the request', async () => {
    const world = await ownerWorld();
    const server = await serverOfPages(world);
    const { page, troubles } = await openPage(`${server.url}/developers`, PHONE);
    const owner = personAt(page);
    await owner.read('Developer Platform');
    await owner.tap('link', 'Sign in');
    await owner.read('Sign in');
    await owner.type('Username', ADA.username);
    await owner.type('E-mail address', ADA.email);
    await owner.tap('button', 'Send me a code');
    await owner.read('Enter the code');
    await settleBackground(world.services.background);
    const mail = (mails(world.access).at(-1) ?? '').replaceAll('=\r\n', '');
    const code = /^ *([0-9A-Z]{4}-[0-9A-Z]{4})\r?$/m.exec(mail)?.[1] as string;
    owner.readText(mail.slice(mail.indexOf('Somebody asked'), mail.indexOf(code) + code.length));
    await owner.type('Code', code);
    await owner.tap('button', 'Sign in');
    await owner.read('API keys');
    await owner.tap('link', 'Request a key');
    await owner.read('Request a key');
    await owner.type('Name of the key', 'Badge bot');
    await owner.type(
      'What does your program do, for whom, and what data does it keep?',
      'A Discord bot for our guild. When somebody types /badges, it looks up that profile and shows its badges. It stores nothing.',
    );
    await owner.tap('button', 'Send the request');
    await owner.read('Badge bot', 'Waiting for an admin.');
    expect(owner.did.taps).toBe(10);
    expect(owner.seconds()).toBeLessThan(180);
    expect(troubles).toEqual([]);
  }, 60_000);

  test('finds out within 20 seconds, an hour later, why a program got 429 and what to do', async () => {
    const world = await ownerWorld();
    const { access, clock, cookie } = world;
    const rateLimits = [
      { quota: 60, windowSeconds: 60 },
      { quota: 5_000, windowSeconds: 86_400 },
    ];
    await issue(access, { profile: ADA.username, name: 'Nightly backup of my own links' });
    const { identifier } = await issue(access, { profile: ADA.username, name: 'Badge bot' }, { rateLimits });
    const limits = openLimits(access.config.databasePath, clock, () => undefined);
    limits.spend(limits.accountOf({ identifier, rateLimits }), 60);
    await limits.save();
    useKey(access, identifier, 20, 60);
    clock.advance(3_600_000);
    const server = await serverOfPages(world);
    const { page } = await openPage(`${server.url}/developers/keys`, { ...PHONE, cookie });
    const owner = personAt(page);
    await owner.read('API keys', 'got 429 today, over 60 per minute');
    expect(owner.seconds()).toBeLessThanOrEqual(12);
    await owner.tap('link', 'Badge bot');
    await owner.read('Badge bot', 'After a 429, wait for the number of seconds in Retry-After.');
    // Visible without scrolling.
    const { y = 0, height = 0 } = (await page.getByText('got 429 today').boundingBox()) ?? {};
    expect(y + height).toBeLessThan(844);
    expect(owner.did.taps).toBe(1);
    expect(owner.seconds()).toBeLessThanOrEqual(20);
    limits.close();
  }, 60_000);
});
