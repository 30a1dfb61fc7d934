import { describe, expect, test } from 'bun:test';
import { noteChanges } from '../../../../shared/db/changes.ts';
import { openBeside } from '../../../../shared/db/open-beside.ts';
import { endView, renewView } from '../../../../shared/db/reader.ts';
import { withTables } from '../../../../shared/db/tables.ts';
import { storeReminders } from '../../../../shared/mail/reminders.ts';
import { prepareLeaderboard } from '../../../../shared/profiles/leaderboard/leaderboard.ts';
import type { Body } from '../../../../shared/profiles/lookup/body.ts';
import { prepareProfiles } from '../../../../shared/profiles/lookup/cache.ts';
import { prepareLookup } from '../../../../shared/profiles/lookup/lookup.ts';
import { closeUsage, openUsage, saveUsage } from '../../../../shared/usage/usage.ts';
import { countUsage } from '../../../../shared/usage/usage-counter.ts';
import { changeByHand, importLines } from '../../../support/import.ts';
import { DESCRIPTION, issue, request } from '../../../support/keys.ts';
import { runCommand } from '../../../support/machine/command.ts';
import { countingReader } from '../../../support/reading.ts';
import { testClock, testDeps } from '../../../support/world.ts';

/** When the key with the reminder expires. */
const EXPIRY_MS = Date.UTC(2030);

/** How long a change made by hand with SQL may go unnoticed. */
const DROP_ALL_AFTER_MS = 10_000;

/** A database of 20 profiles with links, and a server's sources on it; `reads` counts the reads of profiles. */
async function world() {
  const clock = testClock();
  const deps = testDeps({ clock });
  const ids = Array.from({ length: 20 }, (_, at) => at + 1);
  const links = [{ id: 'l', name: 'n', link: 'https://x' }];
  await importLines(
    deps,
    ids.map((id) => ({
      id,
      username: `user${id}`,
      aliases: [`alias${id}`],
      email: 'a@example.org',
      viewsCount: 100 - id,
      links,
    })),
  );
  const { reader, reads } = countingReader(deps.config.databasePath);
  const sources = prepareProfiles(reader);
  const lookup = prepareLookup(reader, sources);
  const board = prepareLeaderboard(reader, sources);
  /** Everything hot, as a request would see it now. */
  const hot = () => {
    endView(reader);
    renewView(reader, clock.monotonicMs());
    const found = ids.flatMap((id) => [lookup.profile('username', `user${id}`), lookup.links('uid', `${id}`)]);
    return [...found.map((one) => one?.text.body ?? ''), (board(20, 0).body as Body).toString()];
  };
  const readsOf = (act: () => unknown) => {
    const before = reads();
    act();
    return reads() - before;
  };
  // Profiles requested only once are not cached.
  for (let turn = 0; turn < 3; turn++) hot();
  return { deps, clock, hot, lookup, readsOf };
}

test('two aliases of one profile, requested in turn, are read once each', async () => {
  const { lookup, readsOf } = await world();
  const count = readsOf(() => {
    for (let turn = 0; turn < 100; turn++)
      for (const name of ['ALIAS7', 'alias7', 'user7']) lookup.profile('username', name);
  });
  expect(count).toBeLessThan(5);
});

test('a name that moves to another profile finds it at once, and a renamed profile is not found by its old name', async () => {
  const { deps, hot, lookup } = await world();
  const found = (name: string) => JSON.parse(lookup.profile('username', name)?.text.body ?? '{}').id;
  const nameAfter = async (id: number, aliases: string[]) => {
    await importLines(deps, [{ id, username: `user${id}`, aliases }], { merge: true });
  };
  const rename = (username: string, to: string) => changeByHand(deps, username, () => ({ username: to, aliases: [] }));
  for (let turn = 0; turn < 20; turn++) {
    hot();
    for (let kept = 0; kept < 4; kept++) for (const name of ['user1', 'user2', 'shared', 'uno']) found(name);
    const [from, to] = turn % 2 === 0 ? [1, 2] : [2, 1];
    await nameAfter(from, []);
    await nameAfter(to, ['shared']);
    hot();
    expect(found('shared')).toBe(to);
    rename('user1', 'uno');
    hot();
    expect([found('user1'), found('uno')]).toEqual([undefined, 1]);
    rename('uno', 'user1');
    await nameAfter(to, ['shared']);
  }
});

describe('a hot profile, its links and the leaderboard stay cached', () => {
  test('while usage is saved, in one write and in several', async () => {
    const { deps, hot, readsOf } = await world();
    const { identifier } = await issue(deps);
    hot();
    hot();
    const usage = openUsage(deps.config.databasePath, deps.clock, () => {});
    for (let turn = 0; turn < 3; turn++) {
      countUsage(usage.counter, { identifier }, null);
      expect(saveUsage(usage)).toBe('saved');
      expect(readsOf(hot)).toBe(0);
    }
    closeUsage(usage);
  });

  test('while keys are requested, change and end, and reminders are stored', async () => {
    const { deps, hot, readsOf } = await world();
    const run = async (...words: string[]) => {
      const done = await runCommand(['keys', ...words, '--db', deps.config.databasePath]);
      expect(done).toMatchObject({ code: 0 });
    };
    const act: Record<string, () => unknown> = {
      request: () =>
        run('request', '--profile', 'user3', '--name', 'x', '--description', DESCRIPTION, '--permission', 'api.lookup'),
    };
    const [edited, withdrawn, rejected] = [await request(deps), await request(deps), await request(deps)];
    act.edit = () => run('edit', edited, '--name', 'New');
    act.withdraw = () => run('withdraw', withdrawn);
    act.reject = () => run('reject', rejected, '--reason', 'no');
    const { identifier } = await issue(deps, { profile: 'user2' }, { expiresAtMs: EXPIRY_MS });
    act['a reminder'] = () => {
      const beside = withTables({ $client: openBeside(deps.config.databasePath) });
      storeReminders(beside, EXPIRY_MS - 60_000, deps.config);
      expect(beside.$client.query("SELECT 1 FROM mails WHERE kind = 'reminder'").all()).toHaveLength(1);
      beside.$client.close();
    };
    act.approve = () => issue(deps, { profile: 'user4' });
    act.revoke = () => run('revoke', identifier, '--reason', 'no');
    hot();
    hot();
    for (const [name, write] of Object.entries(act)) {
      await write();
      expect([name, readsOf(hot)]).toEqual([name, 0]);
    }
  });
});

describe('a change made by hand with SQL', () => {
  const byHand = "UPDATE profiles SET display_name = 'By hand' WHERE id = 7";
  const isShown = (texts: readonly string[]) => texts[12]?.includes('By hand') && texts.at(-1)?.includes('By hand');

  test('is seen at once', async () => {
    const { deps, hot } = await world();
    deps.db.$client.run(byHand);
    expect(isShown(hot())).toBe(true);
  });

  test('is seen after 10 seconds if a command writes at the same moment', async () => {
    const { deps, clock, hot, readsOf } = await world();
    deps.db.$client.run(byHand);
    noteChanges(deps.db.$client, new Set([8]));
    expect(isShown(hot())).toBe(false);
    clock.advance(DROP_ALL_AFTER_MS - 1);
    expect(isShown(hot())).toBe(false);
    clock.advance(1);
    expect(isShown(hot())).toBe(true);
    hot();
    // After everything was dropped, nothing is dropped again until the next write.
    clock.advance(DROP_ALL_AFTER_MS);
    expect(readsOf(hot)).toBe(0);
  });
});
