import { afterAll, describe, expect, test } from 'bun:test';
import { removeAdmin } from '../../../../shared/admins/admins.ts';
import { closeAccess, openAccess } from '../../../../shared/sessions-file/open-access.ts';
import { onBox } from '../../../support/actors.ts';
import { eraseProfile } from '../../../support/erase.ts';
import { importLines } from '../../../support/import.ts';
import { request } from '../../../support/keys.ts';
import { enrol, signIn } from '../../../support/portal/admins.ts';
import { type OpenPage, startBrowser } from '../../../support/portal/browser.ts';
import { hasChromium } from '../../../support/portal/chromium.ts';
import { expectUsable } from '../../../support/portal/looking.ts';
import { ADA, ownerWorld } from '../../../support/portal/owner-pages.ts';
import { serverOfPages, signInOwner } from '../../../support/portal/pages.ts';

// Access ends while a page is open in a real Chromium, by a change through a different database connection.

const world = await ownerWorld({ PUBLIC_URL: 'http://localhost:3000' });
const server = await serverOfPages(world);
const beside = { ...openAccess(world.access.config), clock: world.clock };
afterAll(() => closeAccess(beside));
const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

/** A window with this Cookie header, on a page with text typed into its form. */
async function windowOf(cookie: string, path: string, field: string) {
  const { page } = await openPage(server.url + path, { width: 320, colorScheme: 'dark', cookie });
  if (field.includes('Other')) await page.getByLabel('other', { exact: true }).first().check();
  await page.locator(field).fill('Typed before');
  return page;
}

const stored = () => JSON.stringify(world.access.db.$client.query('SELECT * FROM api_keys').values());

describe.skipIf(!hasChromium)('access ends at the next request, and typed text is kept, for', () => {
  const cases = [
    {
      name: 'an owner whose address was changed',
      by: async () => void (await importLines(beside, [{ ...ADA, email: 'other@example.org' }])),
      isOwner: true,
    },
    {
      name: 'an owner whose profile was erased',
      by: async () => void eraseProfile(beside, ADA.username, onBox('root')),
      isOwner: true,
    },
    {
      name: 'an admin who was removed',
      by: async () => void removeAdmin(beside, 'Grace', onBox('root')),
      isOwner: false,
    },
  ];
  for (const { name, by, isOwner } of cases) {
    test(name, async () => {
      await importLines(beside, [ADA]);
      const identifier = await request(beside, { profile: ADA.username });
      const cookie = isOwner
        ? signInOwner(beside, ADA.id)
        : `session=${(await signIn(beside, await enrol(beside, 'Grace'))).token}`;
      const page = isOwner
        ? await windowOf(cookie, `/developers/keys/${identifier}/rename`, '#name')
        : await windowOf(cookie, `/developers/admin/keys/${identifier}`, '[name="rateLimitsOther"]');
      await by();
      const before = stored();
      await page.getByRole('button', { name: isOwner ? 'Rename' : 'Approve…' }).click();
      await page.getByText('You are not signed in, or your session has expired; nothing was done.').waitFor();
      expect(await page.locator('dl').textContent()).toContain('Typed before');
      await page.getByRole('button', { name: 'Send again' }).waitFor();
      const way = page.getByRole('link', { name: 'Sign in (in a new tab)' });
      expect(await way.getAttribute('href')).toBe(isOwner ? '/developers/sign-in' : '/developers/admin/sign-in');
      // The page for owners is the same with less in it.
      if (!isOwner) await expectUsable(page);
      await page.goto(`${server.url}${isOwner ? '/developers/keys' : '/developers/admin'}`);
      await page.getByRole('heading', { level: 1, name: isOwner ? 'Sign in' : 'Sign in as an admin' }).waitFor();
      expect(stored()).toBe(before);
    }, 30_000);
  }
});
