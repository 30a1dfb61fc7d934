import { expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { closeSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { backupDatabase } from '../../../shared/upkeep/backup.ts';
import { runCommand } from '../../support/machine/command.ts';
import { testAccess } from '../../support/portal/access.ts';
import { personTokenFor } from '../../support/portal/manage.ts';
import { ADA } from '../../support/portal/owner-pages.ts';
import { pageWorld, signInOwner, visit } from '../../support/portal/pages.ts';
import { insertProfile } from '../../support/profiles.ts';
import { tempFolder, testClock } from '../../support/world.ts';

test('after a restore, every session and every person’s token is refused at the next request', async () => {
  const from = testAccess({ clock: testClock() });
  insertProfile(from.db, ADA);
  const cookie = signInOwner(from, ADA.id);
  const token = personTokenFor(from, ownerToSign(from, ADA.id) as Signed);
  closeSessionsFile(from.sessions);
  // Copies, because a restore requires that nobody has the database open.
  const folder = tempFolder();
  const [backup, unchanged, restored] = ['backup.db', 'unchanged.db', 'restored.db'].map((name) => join(folder, name));
  backupDatabase(from.db, backup as string);
  for (const copy of [unchanged, restored]) {
    copyFileSync(backup as string, copy as string);
    copyFileSync(from.sessions.path, `${copy}.sessions`);
  }
  const statuses = async (path = '') => {
    const world = pageWorld({ DATABASE_PATH: path });
    const page = await visit(world, '/developers/keys', { cookie });
    const me = await visit(world, '/manage/v1/me', { headers: { authorization: `Bearer ${token}` } });
    return [page.status, me.status];
  };
  expect(await statuses(unchanged)).toEqual([200, 200]);
  const variables = { DATABASE_PATH: restored as string };
  expect(await runCommand(['db', 'restore', backup as string, '--yes'], { variables })).toMatchObject({ code: 0 });
  expect(await statuses(restored)).toEqual([303, 401]);
});
