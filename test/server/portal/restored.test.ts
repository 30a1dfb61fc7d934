import { expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyDatabase } from '../../../shared/files/copy.ts';
import { closeSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import { runCommand } from '../../support/machine/command.ts';
import { testAccess } from '../../support/portal/access.ts';
import { ADA } from '../../support/portal/owner-pages.ts';
import { pageWorld, signInOwner, visit } from '../../support/portal/pages.ts';
import { insertProfile } from '../../support/profiles.ts';
import { tempFolder, testClock } from '../../support/world.ts';

test('after a restore, every session is refused at the next request', async () => {
  const from = testAccess({ clock: testClock() });
  insertProfile(from.db, ADA);
  const cookie = signInOwner(from, ADA.id);
  closeSessionsFile(from.sessions);
  // Copies, because a restore requires that nobody has the database open.
  const folder = tempFolder();
  const [backup, unchanged, restored] = ['backup.db', 'unchanged.db', 'restored.db'].map((name) => join(folder, name));
  copyDatabase(from.db.$client, backup as string, () => {});
  for (const copy of [unchanged, restored]) {
    copyFileSync(backup as string, copy as string);
    copyFileSync(from.sessions.path, `${copy}.sessions`);
  }
  const status = async (path = '') => {
    const world = pageWorld({ DATABASE_PATH: path });
    return (await visit(world, '/developers/keys', { cookie })).status;
  };
  expect(await status(unchanged)).toBe(200);
  const variables = { DATABASE_PATH: restored as string };
  expect(await runCommand(['db', 'restore', backup as string, '--yes'], { variables })).toMatchObject({ code: 0 });
  expect(await status(restored)).toBe(303);
});
