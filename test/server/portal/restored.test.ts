import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { openBare } from '../../../shared/db/connect.ts';
import { copyDatabase } from '../../../shared/files/copy.ts';
import { runCommand } from '../../support/commands.ts';
import { ADA, servePages, signInOwner } from '../../support/pages.ts';
import { ticketFor } from '../../support/people.ts';
import { insertProfile } from '../../support/profiles.ts';
import { tempFolder, testClock, testDeps } from '../../support/world.ts';

test('a backup has no sign-ins and no one-time secrets, and after a restore every session is refused at the next request', async () => {
  const from = testDeps({ clock: testClock() });
  insertProfile(from.db, ADA);
  const cookie = signInOwner(from, ADA.id);
  ticketFor(from, ADA.id);
  const folder = tempFolder();
  const [backup = '', restored = ''] = ['backup.db', 'restored.db'].map((name) => join(folder, name));
  copyDatabase(from.db.$client, backup, () => {});
  const expectNoneIn = (path: string) => {
    using sqlite = openBare(path, 'read');
    for (const table of ['sign_ins', 'tickets']) expect(sqlite.query(`SELECT * FROM ${table}`).all()).toEqual([]);
  };
  // Before a restore could delete anything.
  expectNoneIn(backup);
  const variables = { DATABASE_PATH: restored };
  expect(await runCommand(['db', 'restore', backup, '--yes'], { variables })).toMatchObject({ code: 0 });
  expectNoneIn(restored);
  const { get } = await servePages({ DATABASE_PATH: restored });
  expect((await get('/developers/keys', cookie)).status).toBe(303);
});
