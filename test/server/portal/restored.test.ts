import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { closeSessionsFile, openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { backupDatabase } from '../../../shared/upkeep/backup.ts';
import { profilectl } from '../../support/cli.ts';
import { serverOn } from '../../support/http.ts';
import { importLines } from '../../support/import.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { call, personTokenFor } from '../../support/portal/manage.ts';
import { ADA } from '../../support/portal/owner-pages.ts';
import { fetchPage, signInOwner } from '../../support/portal/pages.ts';
import { tempFolder, testClock, testDeps } from '../../support/world.ts';

/** A signed-in owner, for servers whose portal runs in a separate thread, which uses the real time. */
async function signedIn(variables: Record<string, string> = {}) {
  const clock = testClock();
  clock.advance(Date.now() - clock.nowMs());
  const deps = { ...testDeps({ variables }), clock };
  await importLines(deps, [ADA]);
  const sessions = openSessionsFile(deps.config.databasePath);
  const access = { ...deps, sessions };
  const cookie = signInOwner(access, ADA.id);
  const token = personTokenFor(access, ownerToSign(access, ADA.id) as Signed);
  closeSessionsFile(sessions);
  return { deps, cookie, token };
}

test('sessions and limits apply to the whole server, with any number of workers', async () => {
  const { deps, cookie } = await signedIn({ WORKERS: '2' });
  const server = await serverOn(deps);
  const seen = new Set<string>();
  const body = new URLSearchParams({ name: ADA.username, address: ADA.email, next: '' }).toString();
  while (seen.size < 2) {
    // A new connection each time, so that both workers get some.
    const headers = { cookie, Connection: 'close' };
    const page = await fetchPage(server, '/developers/keys', { headers });
    expect([page.status, (await page.text()).includes('<summary><bdi>ada</bdi></summary>')]).toEqual([200, true]);
    const asked = await fetchPage(server, '/developers/sign-in', { method: 'POST', body, headers });
    expect(asked.status).toBe(303);
    seen.add((asked.headers.get('x-request-id') as string).slice(0, 12));
  }
  await server.stop();
  using file = new Database(`${deps.config.databasePath}.sessions`, { readonly: true });
  // Only one request a minute is counted, in four rows, and makes a code.
  expect(file.query('SELECT (SELECT count(*) FROM mail_counts), (SELECT count(*) FROM tickets)').values()).toEqual([
    [4, 1],
  ]);
});

test('after a restore, every session and every person’s token is refused at the next request', async () => {
  const { deps, cookie, token } = await signedIn();
  // Copies, because a restore requires that no other process has the database open.
  const [folder, from] = [tempFolder(), deps.config.databasePath];
  const [backup, copy] = [join(folder, 'backup.db'), join(folder, 'profiles.db')];
  backupDatabase(deps.db, backup);
  backupDatabase(deps.db, copy);
  copyFileSync(`${from}.sessions`, `${copy}.sessions`);
  const variables = { DATABASE_PATH: copy, MAIL_URL: `file:${join(folder, 'mail')}` };
  const statuses = async () => {
    const server = await startServerProcess(variables);
    const page = await fetchPage(server, '/developers/keys', { headers: { cookie } });
    const me = await call(server, '/manage/v1/me', token);
    expect(await server.end()).toBe(0);
    return [page.status, me.status];
  };
  expect(await statuses()).toEqual([200, 200]);
  expect(await profilectl(['db', 'restore', backup, '--yes'], { variables })).toMatchObject({ code: 0 });
  expect(await statuses()).toEqual([303, 401]);
});
