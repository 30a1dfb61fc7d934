import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../shared/files/open.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { startLineChild } from '../../support/commands.ts';
import { request } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { testDeps } from '../../support/world.ts';

// Processes that approve the same key at the same moment while another one holds the write lock.

const PROCESSES = 4;

const HELD_MS = 100;

test('four approvals of one key that wait for a lock send one mail and make it Active; the others report who approves it', async () => {
  const deps = testDeps();
  const { databasePath } = deps.config;
  const random = seededRandom('approvals at once');
  const children = await Promise.all(
    Array.from({ length: PROCESSES }, () => startLineChild(join(import.meta.dir, 'approve-child.ts'), databasePath)),
  );
  const other = openDatabase(databasePath, 'use').$client;
  for (let id = 1; id <= rounds(25); id++) {
    insertProfile(deps.db, { id });
    const identifier = await request(deps, { profile: `user${id}` });
    other.run('BEGIN IMMEDIATE');
    const ends = await Promise.all([
      ...children.map(async ({ send, next }) => {
        await Bun.sleep(random() * HELD_MS);
        send(identifier);
        return next();
      }),
      Bun.sleep(HELD_MS).then(() => void other.run('COMMIT')),
    ]);
    const folder = `${databasePath}.mail`;
    const mailed = readdirSync(folder).filter((name) => name.includes(identifier));
    expect(mailed).toHaveLength(1);
    expect(ends.filter((end) => end === 'Active')).toHaveLength(1);
    expect(ends.filter((end) => /^(refused|try_later)$/.test(end ?? ''))).toHaveLength(PROCESSES - 1);
    expect(readFileSync(join(folder, mailed[0] as string), 'utf8')).toContain(`plk_${identifier}_`);
    expect(showKey(deps, identifier)).toMatchObject({ state: 'Active', attempt: { number: 1, result: 'accepted' } });
    expect(keyHistory(deps, identifier).map(({ event }) => event)).toEqual([
      'requested',
      'approval started',
      'approved',
    ]);
  }
  other.close();
}, 300_000);
