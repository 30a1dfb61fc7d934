import { afterAll, expect, test } from 'bun:test';
import { removeAdmin } from '../../../../shared/admins/admins.ts';
import { closeAccess, openAccess } from '../../../../shared/sessions-file/open-access.ts';
import { onBox } from '../../../support/actors.ts';
import { importLines } from '../../../support/import.ts';
import { request } from '../../../support/keys.ts';
import { enrol, signIn } from '../../../support/portal/admins.ts';
import { type OpenPage, startBrowser } from '../../../support/portal/browser.ts';
import { hasChromium } from '../../../support/portal/chromium.ts';
import { expectUsable } from '../../../support/portal/looking.ts';
import { ADA, ownerWorld } from '../../../support/portal/owner-pages.ts';
import { serverOfPages } from '../../../support/portal/pages.ts';

// Access ends while a page is open in a real Chromium, by a change through a different database connection.

const world = await ownerWorld({ PUBLIC_URL: 'http://localhost:3000' });
const server = await serverOfPages(world);
const beside = { ...openAccess(world.access.config), clock: world.clock };
afterAll(() => closeAccess(beside));
const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

const stored = () => JSON.stringify(world.access.db.$client.query('SELECT * FROM api_keys').values());

test.skipIf(!hasChromium)(
  'access ends at the next request of an admin who was removed, on a page that keeps the typed text',
  async () => {
    await importLines(beside, [ADA]);
    const identifier = await request(beside, { profile: ADA.username });
    const cookie = `session=${(await signIn(beside, await enrol(beside, 'Grace'))).token}`;
    const path = `/developers/admin/keys/${identifier}`;
    const { page } = await openPage(server.url + path, { width: 320, colorScheme: 'dark', cookie });
    await page.getByLabel('other', { exact: true }).first().check();
    await page.locator('[name="rateLimitsOther"]').fill('Typed before');
    removeAdmin(beside, 'Grace', onBox('root'));
    const before = stored();
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText('You are not signed in, or your session has expired; nothing was done.').waitFor();
    expect(await page.locator('dl').textContent()).toContain('Typed before');
    await page.getByRole('button', { name: 'Send again' }).waitFor();
    const way = page.getByRole('link', { name: 'Sign in (in a new tab)' });
    expect(await way.getAttribute('href')).toBe('/developers/admin/sign-in');
    await expectUsable(page);
    await page.goto(`${server.url}/developers/admin`);
    await page.getByRole('heading', { level: 1, name: 'Sign in as an admin' }).waitFor();
    expect(stored()).toBe(before);
  },
  30_000,
);
