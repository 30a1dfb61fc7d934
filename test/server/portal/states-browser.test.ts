import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { inviteAdmin } from '../../../shared/admins/admins.ts';
import { USAGE_OUTCOMES } from '../../../shared/keys/usage-outcomes.ts';
import { onBox } from '../../support/actors.ts';
import { eraseProfile } from '../../support/erase.ts';
import { importLines } from '../../support/import.ts';
import { issue, keyIn, request } from '../../support/keys.ts';
import { adminWorld } from '../../support/portal/admin-pages.ts';
import { enrol, registerAt, signIn } from '../../support/portal/admins.ts';
import { keepCookie, type OpenPage, startBrowser } from '../../support/portal/browser.ts';
import { hasChromium } from '../../support/portal/chromium.ts';
import { expectUsable } from '../../support/portal/looking.ts';
import { type PageWorld, serverOfPages, signInOwner } from '../../support/portal/pages.ts';

// Accessibility of confirmations, lists and keys in states that other tests don't cover.

const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

const OWNERS = ['full', 'ended', 'gone', 'empty'].map((username, at) => {
  return { id: 20 + at, username, email: `${username}@example.org` };
});

/** Owners with all kinds of keys: `full` has the maximum, `ended` has ended ones, `gone` is erased. */
async function allKeys({ access, clock }: PageWorld) {
  await importLines(access, OWNERS);
  const make = (state: Parameters<typeof keyIn>[0], profile: string) => keyIn(state, { ...access, clock }, profile);
  const ended = [await make('withdrawn', 'ended'), await make('revoked', 'ended'), await make('expired', 'ended')];
  const suspended = await make('suspended', 'ended');
  await make('Active', 'gone');
  eraseProfile(access, 'gone', onBox('root'));
  const grant = { expiresAtMs: clock.nowMs() + 86_400_000 };
  const { identifier: active } = await issue(access, { profile: 'full', name: 'Bot with every outcome' }, grant);
  const counts = USAGE_OUTCOMES.map((_, at) => 12_345 * (at + 1));
  access.db.$client.run(
    `INSERT INTO key_usage (identifier, day, ok, not_found, forbidden, malformed, limited, failed, last_used_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [active, Math.floor(clock.nowMs() / 86_400_000), ...counts, clock.nowMs()],
  );
  for (const name of ['One', 'Two']) await request(access, { profile: 'full', name });
  return { ended, suspended, active };
}

/** Signs in an admin who has two passkeys, and returns the Cookie header. */
async function adminWithTwoPasskeys({ access }: PageWorld): Promise<string> {
  const authenticator = await enrol(access, 'Grace');
  await registerAt(access, inviteAdmin(access, 'Grace', { keepPasskeys: true }, onBox('root')).address, 'Blue key');
  return `session=${(await signIn(access, authenticator)).token}`;
}

const press = (page: Page, name: string | RegExp) => page.locator('main').getByRole('button', { name }).first().click();

test.skipIf(!hasChromium)(
  'confirmations, and lists and pages of keys in every state, are accessible',
  async () => {
    const world = await adminWorld();
    const { ended, suspended, active } = await allKeys(world);
    const admin = await adminWithTwoPasskeys(world);
    const { url } = await serverOfPages(world);
    const { page } = await openPage('about:blank', { width: 1280, colorScheme: 'light' });
    const lookAs = async (cookie: string, path: string, heading: string, prepare?: () => Promise<void>) => {
      await keepCookie(page.context(), cookie, url);
      await page.goto(`${url}/developers${path}`);
      await prepare?.();
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await expectUsable(page);
    };
    const [full, other, , empty] = OWNERS.map(({ id }) => (id === 22 ? '' : signInOwner(world.access, id)));
    await lookAs(full ?? '', '/keys', 'API keys');
    await lookAs(full ?? '', `/keys/${active}`, 'Bot with every outcome');
    expect(await page.locator('#replace').isVisible()).toBe(true);
    await lookAs(empty ?? '', '/keys', 'API keys');
    // The pages of their keys differ in few elements from an Active key's.
    for (const key of [...ended.slice(0, 1), suspended]) {
      await lookAs(other ?? '', `/keys/${key}`, 'Bot');
    }
    await lookAs(admin, '/admin?choose=all', 'Reject 2 requests?', () =>
      page.locator('.bar').getByRole('button', { name: 'Reject' }).click(),
    );
    await lookAs(admin, `/admin/keys/${suspended}`, 'Revoke “Bot”?', () => press(page, 'Revoke…'));
    await lookAs(admin, '/admin/people', 'Remove a passkey?', () => press(page, 'Remove Blue key'));
  },
  120_000,
);
