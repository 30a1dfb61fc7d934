import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { boardOf, lineOf, linksBody, profileBody } from './profiles.ts';
import type { Results } from './results.ts';
import { markdownTable, tableRow } from './results.ts';

const KEPT: Results = JSON.parse(readFileSync(join(import.meta.dir, 'results.json'), 'utf8'));

test('the kept results contain no wrong responses, and each was measured in at least one round', () => {
  expect(KEPT.results.filter(({ faults, ratios }) => faults.length > 0 || ratios.length === 0)).toEqual([]);
  expect(markdownTable(KEPT.results).split('\n').length).toBe(KEPT.results.length + 3);
});

test('the median decides whether a goal is reached', () => {
  const result = { name: 'x', what: 'x', figures: {}, samples: 0, faults: [], ratios: [0.5, 2, 1.5] };
  expect(tableRow({ ...result, goal: { min: 1.5 } })).toEqual(['x', '1.50', '0.50–2.00', '≥ 1.5', '']);
  expect(tableRow({ ...result, goal: { max: 1.4 } })).toEqual(['x', '1.50', '0.50–2.00', '≤ 1.4, missed', '']);
  expect(tableRow({ ...result, goal: null })).toEqual(['x', '1.50', '0.50–2.00', '', '']);
});

test('a generated profile is always the same, and its line and its bodies agree', () => {
  for (let id = 1; id < 300; id++) {
    const { aliases: _a, authId: _i, email: _e, ...open } = JSON.parse(lineOf(id, 2));
    const { showFollowersCount, showOnLeaderboard: _s, links, ...shown } = open;
    const followersCount = showFollowersCount ? shown.followersCount : null;
    expect(JSON.parse(profileBody(id, 2))).toEqual({ ...shown, followersCount });
    expect(JSON.parse(linksBody(id))).toEqual({ links });
    expect(lineOf(id, 2)).toBe(lineOf(id, 2));
  }
  const { leaderboard, total } = JSON.parse(boardOf(300)(100, 0));
  expect([leaderboard.length, leaderboard[0].rank]).toEqual([100, 1]);
  expect(total).toBeLessThan(300);
});
