import { expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { closeSessionsFile, openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { backupDatabase } from '../../../shared/upkeep/backup.ts';
import { profilectl } from '../../support/cli.ts';
import { importLines } from '../../support/import.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { call, personTokenFor } from '../../support/portal/manage.ts';
import { ADA } from '../../support/portal/owner-pages.ts';
import { fetchPage, signInOwner } from '../../support/portal/pages.ts';
import { tempFolder, testClock, testDeps } from '../../support/world.ts';

test('after a restore, every session and every person’s token is refused at the next request', async () => {
  const clock = testClock(Date.now());
  const deps = { ...testDeps(), clock };
  await importLines(deps, [ADA]);
  const sessions = openSessionsFile(deps.config.databasePath);
  const access = { ...deps, sessions };
  const cookie = signInOwner(access, ADA.id);
  const token = personTokenFor(access, ownerToSign(access, ADA.id) as Signed);
  closeSessionsFile(sessions);
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
