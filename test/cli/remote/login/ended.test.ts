import { expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Signed } from '../../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../../shared/sign-ins/binding.ts';
import { backupDatabase } from '../../../../shared/upkeep/backup.ts';
import { profilectl } from '../../../support/cli.ts';
import { importLines } from '../../../support/import.ts';
import { startServerProcess } from '../../../support/machine/server-process.ts';
import { freePort } from '../../../support/network/proxy.ts';
import { testAccess } from '../../../support/portal/access.ts';
import { enrol, signIn } from '../../../support/portal/admins.ts';
import { type OpenPage, startBrowser } from '../../../support/portal/browser.ts';
import { hasChromium } from '../../../support/portal/chromium.ts';
import { newLaptop } from '../../../support/portal/logins.ts';
import { personTokenFor } from '../../../support/portal/manage.ts';
import { ADA } from '../../../support/portal/owner-pages.ts';
import { signInOwner } from '../../../support/portal/pages.ts';
import { tempFolder } from '../../../support/world.ts';

// What ends the access of a person who is signed in with a browser and with a stored login of profilectl, when it is done on
// the server itself.

const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

/** A server, an owner or an admin who is signed in to it in both ways, and commands on the server itself. */
async function world(who: 'owner' | 'admin') {
  const folder = tempFolder();
  const port = freePort();
  const url = `http://localhost:${port}`;
  const variables = { DATABASE_PATH: join(folder, 'profiles.db'), PUBLIC_URL: url, PORT: String(port) };
  const box = (words: string[]) => profilectl([...words, '--yes'], { variables });
  const seed = join(tempFolder(), 'profiles.db');
  const access = testAccess({ variables: { ...variables, DATABASE_PATH: seed } });
  await importLines(access, [ADA]);
  const grace = await signIn(access, await enrol(access, 'Grace'));
  const signed = who === 'owner' ? (ownerToSign(access, ADA.id) as Signed) : grace.signed;
  const token = personTokenFor(access, signed);
  const cookie = who === 'owner' ? signInOwner(access, ADA.id) : `session=${grace.token}`;
  // Copies, because a restore is refused while another process has the database open: a closed one stays open until the
  // statements that were prepared on it are collected.
  access.sessions.sqlite.close();
  copyFileSync(`${seed}.sessions`, `${variables.DATABASE_PATH}.sessions`);
  const backup = join(folder, 'backup.db');
  for (const copy of [variables.DATABASE_PATH, backup]) backupDatabase(access.db, copy);
  const laptop = newLaptop();
  const server = { running: await startServerProcess(variables) };
  const logIn = { variables: laptop.variables, stdin: token };
  expect(await profilectl(['login', url, '--with-token'], logIn)).toMatchObject({ code: 0 });
  const restore = async () => {
    expect(await server.running.end()).toBe(0);
    const done = await box(['db', 'restore', backup]);
    server.running = await startServerProcess(variables);
    return done;
  };
  return {
    url,
    cookie,
    box,
    restore,
    server,
    list: () => profilectl(['keys', 'list'], { variables: laptop.variables }),
  };
}

type World = Awaited<ReturnType<typeof world>>;

test.each<[string, 'owner' | 'admin', (world: World) => ReturnType<typeof profilectl>]>([
  ['a changed address', 'owner', ({ box }) => box(['profiles', 'set', ADA.username, 'email=other@example.org'])],
  ['an erasure', 'owner', ({ box }) => box(['profiles', 'erase', ADA.username])],
  ['the removal of an admin', 'admin', ({ box }) => box(['admins', 'remove', 'Grace'])],
  ['a restore', 'owner', ({ restore }) => restore()],
  ['a restore, for an admin too,', 'admin', ({ restore }) => restore()],
])(
  '%s ends access at the next request, in a browser and by a stored login',
  async (_cause, who, act) => {
    const of = await world(who);
    expect(await of.list()).toMatchObject({ code: 0 });
    const [name = '', value = ''] = of.cookie.split('=');
    const path = `${of.url}/developers/${who === 'owner' ? 'keys' : 'admin'}`;
    const page = hasChromium
      ? (await openPage(`${of.url}/developers/found`, { width: 1280, colorScheme: 'light' })).page
      : null;
    const readPage = async () => {
      await page?.goto(path);
      return page?.getByRole('heading', { level: 1 }).textContent();
    };
    await page?.context().addCookies([{ name, value, url: of.url }]);
    const [signedIn, signedOut] = who === 'owner' ? ['API keys', 'Sign in'] : ['Requests', 'Sign in as an admin'];
    if (hasChromium) expect(await readPage()).toBe(signedIn);
    expect(await act(of)).toMatchObject({ code: 0 });
    const refused = await of.list();
    expect([refused.code, refused.stdout]).toEqual([4, '']);
    expect(refused.stderr).toBe(`${of.url} does not accept the token; run "profilectl login ${of.url}".\n`);
    if (hasChromium) expect(await readPage()).toBe(signedOut);
    expect(await of.server.running.end()).toBe(0);
  },
  60_000,
);
