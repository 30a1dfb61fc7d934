import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTables } from '../../../shared/db/tables.ts';
import { AppError } from '../../../shared/errors.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { keyHistory, listKeys, showKey } from '../../../shared/keys/view.ts';
import { OPERATIONS, perform } from '../../../shared/operations.ts';
import { startLineChild } from '../../support/commands.ts';
import { issue, request } from '../../support/keys.ts';
import { changeByHand, insertProfile } from '../../support/profiles.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { onBox, testDeps } from '../../support/world.ts';

// One process shows something and acts after a confirmation; another changes it around that moment, sometimes with
// both waiting for a lock. Whoever wins, the action fits what was shown, or does not happen.

const MAX_MS = 12;

const { deps, beside, race } = await world();

/** A database, with a process on it that runs version-child.ts. Each test has its own profiles. */
async function world() {
  const deps = testDeps();
  const { databasePath } = deps.config;
  const child = await startLineChild(join(import.meta.dir, 'version-child.ts'), databasePath);
  const random = seededRandom('moments of changes');
  // Waits for locks, as commands do.
  const beside = { ...deps, db: withTables(openDatabase(databasePath, 'use')) };
  const other = beside.db.$client;
  /** Lets a command show its subject, then races its confirmation against a change. */
  async function race(command: string, change: () => unknown): Promise<{ shown: string; end: string }> {
    child.send(command);
    const shown = (await child.next()) ?? '';
    const isHeld = random() < 0.5;
    if (isHeld) other.run('BEGIN IMMEDIATE');
    const wait = () => Bun.sleep(random() * MAX_MS);
    const release = async () => {
      if (!isHeld) return;
      await wait();
      other.run('COMMIT');
    };
    const changing = async () => {
      await Promise.all([releasing, wait()]);
      await change();
    };
    const releasing = release();
    const yes = async () => {
      await wait();
      child.send('yes');
      return (await child.next()) ?? '';
    };
    const [end] = await Promise.all([yes(), changing()]);
    return { shown, end };
  }
  return { deps, beside, race };
}

/** Checks that each side won at times, which few rounds do not show. */
function expectBoth(ends: readonly string[]): void {
  if (ends.length >= 20) expect(new Set(ends)).toEqual(new Set(['done', 'changed_since']));
}

test('the secret is mailed to the address that was shown, or not at all', async () => {
  const folder = `${deps.config.databasePath}.mail`;
  const ends: string[] = [];
  for (let id = 1; id <= rounds(100); id++) {
    insertProfile(deps.db, { id, email: `old${id}@example.org` });
    const identifier = await request(deps, { profile: `user${id}` });
    const { shown, end } = await race(`approve ${identifier}`, () =>
      changeByHand(beside, `user${id}`, { email: `new${id}@example.org` }),
    );
    expect(shown).toBe(`old${id}@example.org`);
    const mailed = readdirSync(folder).filter((name) => name.includes(identifier));
    for (const name of mailed) expect(readFileSync(join(folder, name), 'utf8')).toContain(`To: ${shown}`);
    // If the address changes while the mail is in flight, the attempt is void.
    const { state } = showKey(deps, identifier);
    expect([end, mailed.length, state]).toEqual(
      { done: [end, 1, 'Active'], changed_since: [end, 0, 'pending'] }[end] ?? ['refused', 1, 'pending'],
    );
    ends.push(end === 'refused' ? 'done' : end);
  }
  expectBoth(ends);
}, 300_000);

test('values kept with Enter are never written back', async () => {
  const ends: string[] = [];
  const mine = [{ quota: 1, windowSeconds: 60 }];
  for (let id = 1_001; id <= 1_000 + rounds(100); id++) {
    insertProfile(deps.db, { id });
    const { identifier } = await issue(deps, { profile: `user${id}` });
    const { end } = await race(`change ${identifier}`, () =>
      perform(beside, onBox('other'), OPERATIONS.change, { identifier, rateLimits: mine }),
    );
    const { rateLimits, expiresAt } = showKey(deps, identifier);
    expect([end, rateLimits, expiresAt !== null]).toEqual([end, mine, end === 'done']);
    const changed = keyHistory(deps, identifier).filter(({ event }) => event === 'changed');
    expect(changed.filter(({ detail }) => detail?.changes?.rateLimits !== undefined)).toHaveLength(1);
    ends.push(end);
  }
  expectBoth(ends);
}, 300_000);

test.each([
  ['erase', 2_000],
  ['request', 3_000],
])(
  '%s acts on the profile that was shown, whoever has its name by then',
  async (verb, firstId) => {
    const ends: string[] = [];
    for (let round = 1; round <= rounds(100); round++) {
      const [id, otherId, name] = [firstId + 2 * round, firstId + 2 * round + 1, `ada${firstId + round}`];
      insertProfile(deps.db, { id, username: name });
      insertProfile(deps.db, { id: otherId, username: `eve${firstId + round}` });
      const { shown, end } = await race(`${verb} ${name}`, () => {
        try {
          changeByHand(beside, name, { username: `countess${firstId + round}` });
        } catch (error) {
          // It was erased before, which frees its name too.
          if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
        }
        changeByHand(beside, `eve${firstId + round}`, { username: name });
      });
      const isThere = (which: number) =>
        deps.db.$client.query('SELECT 1 FROM profiles WHERE id = ?').get(which) !== null;
      expect([shown, isThere(otherId), listKeys(deps, { profileId: otherId })]).toEqual([`${id}`, true, []]);
      const isDone = verb === 'erase' ? !isThere(id) : listKeys(deps, { profileId: id }).length === 1;
      expect([end, isDone]).toEqual([end, end === 'done']);
      ends.push(end);
    }
    expectBoth(ends);
  },
  300_000,
);
