import { expect, test } from 'bun:test';
import { createProfileCounter } from '../../../shared/profiles/count.ts';
import { testDeps } from '../../support/world.ts';

test('a count that is split into many pieces is exact, and other work continues between the pieces', async () => {
  const deps = testDeps();
  const { $client } = deps.db;
  // Ids with gaps, and two names for each.
  $client.run(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 15001)
     INSERT INTO profiles (id, username, display_name, badges, assets, customize, discord_clean, banned, views_count,
         followers_count, show_followers_count, created_at)
       SELECT i * 7, 'u' || i, 'x', '[]', '{}', '{}', '{}', i % 2, 0, 0, 1, 0 FROM n`,
  );
  for (const [position, first] of ['u', 'alias'].entries()) {
    $client.run(
      `INSERT INTO profile_names (folded, profile_id, position, name)
         SELECT '${first}' || id, id, ${position}, '${first}' || id FROM profiles`,
    );
  }
  const count = createProfileCounter(deps);
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns++;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  expect(await count()).toBe(15_001);
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(3);
});
