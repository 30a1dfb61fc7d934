import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beginAttempt } from '../../../shared/approval/attempt.ts';
import { readConfig } from '../../../shared/config/config.ts';
import { KEY_STATES } from '../../../shared/db/key-columns.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { createDeps } from '../../../shared/deps.ts';
import { effectsOnKeys } from '../../../shared/erasure/erase-profile.ts';
import { expireKeys } from '../../../shared/keys/life/expire.ts';
import { editKey } from '../../../shared/keys/life/lifecycle.ts';
import { importProfiles } from '../../../shared/profiles/import/import.ts';
import { onBox } from '../actors.ts';
import { PROJECT } from '../cli.ts';
import { eraseProfile } from '../erase.ts';
import { keyIn, mailedSecrets, request } from '../keys.ts';
import { makeOlderDatabase } from '../machine/upgrade.ts';
import { testClock } from '../world.ts';

// Made test/fixtures/first-schema.db, once: `bun test/support/storage/make-first-schema.ts <file>`. The fixture stands for the
// databases that people have, so it is never made again; a later schema gets a fixture of its own.

const START_MS = Date.parse('2026-01-01T00:00:00Z');

/** The sample's profiles, a key in every state, an erased profile's, one renamed, one whose approval is under way. */
async function make(file: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-fixture-'));
  const path = join(folder, 'profiles.db');
  makeOlderDatabase(path, 1);
  const db = withTables(openDatabase(path, 'look'));
  const config = readConfig({ DATABASE_PATH: path, MAIL_URL: `file:${join(folder, 'mail')}` });
  const deps = { ...createDeps(db, config), clock: testClock(START_MS) };
  const source = join(PROJECT, 'shared/sample/profiles.jsonl');
  await importProfiles(deps, source, {
    merge: false,
    strict: true,
    by: onBox('operator'),
    onKeys: effectsOnKeys(onBox('operator')),
  });
  const names = db.$client
    .query('SELECT username FROM profiles WHERE email IS NOT NULL AND banned = 0 ORDER BY id')
    .all();
  const [gone, ...others] = (names as { username: string }[]).map(({ username }) => username);
  // The first schema knew no suspended keys.
  for (const [index, state] of KEY_STATES.filter((one) => one !== 'suspended').entries()) {
    const identifier = await keyIn(state, deps, others[index] as string);
    deps.clock.advance(3_600_000);
    if (state === 'Active') {
      editKey(deps, { identifier, name: 'Renamed', by: onBox('owner') });
      process.stdout.write(`${mailedSecrets(deps, identifier).at(-1)}\n`);
    }
    await keyIn(state, deps, gone as string).catch(() => undefined);
  }
  expireKeys(deps);
  eraseProfile(deps, gone as string, onBox('operator'));
  const identifier = await request(deps, { profile: others[10] as string });
  beginAttempt(deps, { identifier, grant: {}, by: onBox('admin') });
  db.$client.run('VACUUM INTO ?', [file]);
  db.$client.close();
  rmSync(folder, { recursive: true });
}

await make(process.argv[2] as string);
