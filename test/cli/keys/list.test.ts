import { expect, test } from 'bun:test';
import { keysText } from '../../../cli/keys/print.ts';
import { issue, keysListed, request } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';
import { openTerminal, runCommand } from '../commands.ts';

const clock = testClock(Date.parse('2026-11-03T12:00:00Z'));
const deps = testDeps({ clock });
const made: string[] = [];
for (let id = 1; id <= 20; id++) {
  insertProfile(deps.db, { id });
  for (const name of ['Badge bot', 'The bridge between our chat and the one of our friends', `Board of user${id}`]) {
    clock.advance(1_000);
    made.push(await request(deps, { profile: `user${id}`, name }));
  }
}
insertProfile(deps.db, { id: 21 });
const { identifier: active } = await issue(deps, { profile: 'user21', name: 'Active one' });
const all = [...made, active];

const variables = { DATABASE_PATH: deps.config.databasePath };
const list = (...words: string[]) => runCommand(['keys', 'list', ...words], { variables });
const json = async (...words: string[]) => {
  const { keys, next } = JSON.parse((await list('--json', ...words)).stdout);
  return { keys: keys.map(({ identifier }: { identifier: string }) => identifier) as string[], next };
};

test('without a terminal all keys are listed, or with --limit or --after one page and the cursor of the next', async () => {
  expect(await json()).toEqual({ keys: all, next: null });
  expect(await json('--limit', '7')).toEqual({ keys: all.slice(0, 7), next: all[6] });
  expect(await json('--limit', '7', '--after', all[6] as string)).toEqual({ keys: all.slice(7, 14), next: all[13] });
  expect(await json('--after', all[0] as string)).toEqual({ keys: all.slice(1, 51), next: all[50] });
  expect(await json('--after', all[58] as string)).toEqual({ keys: all.slice(59), next: null });
  expect(await json('--state', 'ACTIVE')).toEqual({ keys: [active], next: null });
  expect((await json('--state', 'pending', '--profile', 'USER3')).keys).toEqual(made.slice(6, 9));
  expect(await list('--after', '00000000')).toMatchObject({ code: 1, stdout: '' });
  expect(await list('--limit', 'x')).toMatchObject({ code: 2, stdout: '' });
});

test('a terminal shows 50 keys at a time, and the command for the next page', async () => {
  const words = ['keys', 'list', '--state', 'pending'];
  const first = openTerminal([...words, '--db', variables.DATABASE_PATH], { NO_COLOR: '' });
  await first.see(`Next page: profilectl keys list --state pending --after ${all[49]} --db ${variables.DATABASE_PATH}`);
  expect(await first.exited).toBe(0);
  // The state is yellow, and the time relative.
  expect(first.raw()).toMatch(RegExp(`${all[0]} +\u001b\\[33mpending\u001b\\[39m.* \\d+[smhd] ago`));
  expect(all.filter((identifier) => first.screen().includes(`\n${identifier} `))).toEqual(all.slice(0, 50));
  const second = openTerminal([...words, '--after', all[49] as string], variables);
  await second.see(all[59] as string);
  expect(await second.exited).toBe(0);
  expect(second.screen()).not.toContain('The next');
});

test('a narrow terminal shows fewer columns, and never truncates times', () => {
  const keys = keysListed(deps);
  const nowMs = clock.nowMs();
  for (const columns of [40, 60, 72, 80, 86, 88, 90, 92, 100, 120, 200]) {
    const lines = keysText(keys, nowMs, new Map([[active, nowMs]]), columns).split('\n');
    expect([columns, Math.max(...lines.map((line) => Bun.stringWidth(line))) <= columns]).toEqual([columns, true]);
    for (const line of lines.slice(1)) {
      expect(line).toMatch(/^\w{8} {2,4}(pending|Active)\b/);
      expect(line).not.toMatch(/\d{4}-[\d:T.-]*…/);
    }
  }
  const widest = keysText(keys, nowMs, new Map([[active, nowMs]]), 200).split('\n', 1)[0];
  expect(widest?.split(/ {2,}/).length).toBe(7);
});
