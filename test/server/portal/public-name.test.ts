import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addAdmin } from '../../../shared/admins.ts';
import { passkeyOptionsOn, servePages } from '../../support/pages.ts';
import { secretOf } from '../../support/people.ts';
import { onBox, tempFolder } from '../../support/world.ts';

// PUBLIC_NAME and PUBLIC_LOGO on all pages and in the documents.

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><script>document.title = 'run'</script><rect width="8" height="8"/></svg>`;
const logo = join(tempFolder(), 'logo.svg');
writeFileSync(logo, LOGO);
const LOGO_URL = `data:image/svg+xml;base64,${btoa(LOGO)}`;

const { access, server, post } = await servePages({ PUBLIC_NAME: 'Link<hive> & Co', PUBLIC_LOGO: logo });

const PATHS = ['/developers', '/developers/sign-in', '/developers/nothing', '/docs'];

test('all pages have the name in title and head, and the logo as icon', async () => {
  for (const path of PATHS) {
    const page = await (await fetch(server.url + path)).text();
    expect(page).toMatch(/<title>[^<]+ – Link&lt;hive&gt; &amp; Co<\/title>/);
    expect(page).toContain(`<img class="mark" src="${LOGO_URL}" alt="">`);
    expect(page).toContain(`<link rel="icon" href="${LOGO_URL}">`);
    for (const scheme of ['light', 'dark']) {
      expect(page).toMatch(
        new RegExp(`<meta name="theme-color" media="\\(prefers-color-scheme: ${scheme}\\)" content="#[0-9a-f]{6}">`),
      );
    }
    expect(page.replace(/<figure class="code">.*?<\/figure>/gs, '')).not.toContain('Profile Lookup');
  }
});

test('the OpenAPI document and passkeys have the name', async () => {
  const titleOf = async (path: string) =>
    ((await (await fetch(server.url + path)).json()) as { info: { title: string } }).info.title;
  expect(await titleOf('/openapi.json')).toBe('Link<hive> & Co');
  const { address } = addAdmin(access, 'Grace', onBox('root'));
  const page = await post('/developers/enrol', { secret: secretOf(address) });
  expect(passkeyOptionsOn(page).party).toEqual({
    id: 'localhost',
    origin: 'http://localhost:3000',
    name: 'Link<hive> & Co',
  });
});
