import { describe, expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Signed } from '../../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../../shared/sign-ins/binding.ts';
import { backupDatabase } from '../../../../shared/upkeep/backup.ts';
import { profilectl } from '../../../support/cli.ts';
import { importLines } from '../../../support/import.ts';
import { runCommand } from '../../../support/machine/command.ts';
import { startServerProcess } from '../../../support/machine/server-process.ts';
import { freePort } from '../../../support/network/proxy.ts';
import { testAccess } from '../../../support/portal/access.ts';
import { enrol, signIn } from '../../../support/portal/admins.ts';
import { type OpenPage, startBrowser } from '../../../support/portal/browser.ts';
import { hasChromium } from '../../../support/portal/chromium.ts';
import { newLaptop } from '../../../support/portal/logins.ts';
import { personTokenFor } from '../../../support/portal/manage.ts';
import { ADA, BEA } from '../../../support/portal/owner-pages.ts';
import { fetchPage, signInOwner } from '../../../support/portal/pages.ts';
import { tempFolder } from '../../../support/world.ts';

// What ends the access of a person who is signed in with a browser and with a stored login of profilectl, when it is done on
// the server itself.

const openPage: OpenPage | null = hasChromium ? await startBrowser() : null;

const CEM = { id: 9, username: 'cem', email: 'cem@example.org' };

type Person = { signed: Signed; cookie: string; token: string };

/**
 * Someone who is signed in with a browser and with a stored login, and what that person then sees. Chromium is the browser of an
 * owner and of an admin; pages are requested with the cookies of the others.
 */
async function signedIn(url: string, { signed, cookie, token }: Person, browser = openPage) {
  const { variables } = newLaptop();
  const logIn = await runCommand(['login', url, '--with-token'], { variables, stdin: token });
  expect(logIn).toMatchObject({ code: 0 });
  let page: Page | undefined;
  const list = () => runCommand(['keys', 'list'], { variables });
  const isOwner = signed.kind === 'owner';
  const expectHeading = async (heading: string) => {
    const path = `/developers/${isOwner ? 'keys' : 'admin'}`;
    if (page === undefined) {
      const answer = await fetchPage({ url }, path, { headers: { cookie }, redirect: 'follow' });
      expect(await answer.text()).toContain(`<h1>${heading}</h1>`);
      return;
    }
    await page.goto(url + path);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(heading);
  };
  return {
    expectAccess: async () => {
      page = (await browser?.(`${url}/healthz`, { width: 1280, colorScheme: 'light', cookie }))?.page;
      expect(await list()).toMatchObject({ code: 0 });
      await expectHeading(isOwner ? 'API keys' : 'Requests');
    },
    expectNoAccess: async () => {
      const stderr = `${url} does not accept the token; run "profilectl login ${url}".\n`;
      expect(await list()).toEqual({ code: 4, stdout: '', stderr });
      await expectHeading(isOwner ? 'Sign in' : 'Sign in as an admin');
    },
  };
}

/** A server, people who are signed in to it in both ways, and commands on the server itself. */
async function world() {
  const folder = tempFolder();
  const port = freePort();
  const url = `http://localhost:${port}`;
  const variables = { DATABASE_PATH: join(folder, 'profiles.db'), PUBLIC_URL: url, PORT: String(port) };
  const seed = join(tempFolder(), 'profiles.db');
  const access = testAccess({ variables: { ...variables, DATABASE_PATH: seed } });
  await importLines(access, [ADA, BEA, CEM]);
  const ownerOf = (id: number) => {
    const signed = ownerToSign(access, id) as Signed;
    return { signed, cookie: signInOwner(access, id), token: personTokenFor(access, signed) };
  };
  const adminOf = async (name: string) => {
    const { signed, token } = await signIn(access, await enrol(access, name));
    return { signed, cookie: `session=${token}`, token: personTokenFor(access, signed) };
  };
  const signed = {
    ada: ownerOf(ADA.id),
    bea: ownerOf(BEA.id),
    cem: ownerOf(CEM.id),
    grace: await adminOf('Grace'),
    hedy: await adminOf('Hedy'),
  };
  // Copies, because a restore is refused while another process has the database open: a closed one stays open until the
  // statements that were prepared on it are collected.
  access.sessions.sqlite.close();
  copyFileSync(`${seed}.sessions`, `${variables.DATABASE_PATH}.sessions`);
  const backup = join(folder, 'backup.db');
  for (const copy of [variables.DATABASE_PATH, backup]) backupDatabase(access.db, copy);
  const server = { running: await startServerProcess(variables) };
  const box = (...words: string[]) => profilectl([...words, '--yes'], { variables });
  const restore = async () => {
    expect(await server.running.end()).toBe(0);
    expect(await box('db', 'restore', backup)).toMatchObject({ code: 0 });
    server.running = await startServerProcess(variables);
  };
  const { ada, bea, cem, grace, hedy } = signed;
  return {
    box,
    restore,
    people: {
      ada: await signedIn(url, ada),
      bea: await signedIn(url, bea, null),
      cem: await signedIn(url, cem, null),
      grace: await signedIn(url, grace, null),
      hedy: await signedIn(url, hedy),
    },
  };
}

const { box, restore, people } = await world();
const { ada, bea, cem, grace, hedy } = people;

describe('ends access at the next request, in a browser and by a stored login:', () => {
  test.each([
    ['a changed address', ada, ['profiles', 'set', ADA.username, 'email=other@example.org']],
    ['an erasure', bea, ['profiles', 'erase', BEA.username]],
    ['the removal of an admin', grace, ['admins', 'remove', 'Grace']],
  ] as const)(
    '%s',
    async (_cause, person, words) => {
      await person.expectAccess();
      expect(await box(...words)).toMatchObject({ code: 0 });
      await person.expectNoAccess();
    },
    60_000,
  );

  test('a restore, for owners and admins', async () => {
    for (const person of [cem, hedy]) await person.expectAccess();
    await restore();
    for (const person of [cem, hedy]) await person.expectNoAccess();
  }, 60_000);
});
