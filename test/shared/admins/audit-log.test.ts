import { describe, expect, test } from 'bun:test';
import { addAdmin } from '../../../shared/admins/admins.ts';
import { type Decided, listDecided } from '../../../shared/admins/audit-log.ts';
import { onBox } from '../../support/actors.ts';
import { importLines } from '../../support/import.ts';
import { issue } from '../../support/keys.ts';
import { testAccess } from '../../support/portal/access.ts';
import { testClock } from '../../support/world.ts';

async function world() {
  const clock = testClock();
  const access = testAccess({ clock, variables: { PUBLIC_URL: 'http://localhost:3000' } });
  await importLines(access, [{ id: 7, username: 'ada', email: 'ada@example.org' }]);
  const { identifier } = await issue(access, { profile: 'ada' });
  /** Stores so many changes of the key, one a second from a time on. */
  const change = (count: number, fromMs: number) =>
    access.db.$client
      .query(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
           INSERT INTO key_events (identifier, at, by, by_kind, event, from_state, to_state)
             SELECT ?, ? + i * 1000, 'root', 'operator', 'changed', 'Active', 'Active' FROM n`,
      )
      .run(count, identifier, fromMs);
  return { access, clock, change };
}

/** All entries, read in pages of this size. */
function inPages({ db }: ReturnType<typeof testAccess>, size: number): Decided[] {
  const all: Decided[] = [];
  for (;;) {
    const page = listDecided(db, size, all.at(-1)?.cursor);
    all.push(...page);
    if (page.length < size) return all;
  }
}

describe('everything that was decided', () => {
  test('is the same in pages of any size, also where the clock was set back meanwhile', async () => {
    const { access, clock, change } = await world();
    for (const [step, name] of ['Grace', 'Hopper', 'Ada'].entries()) {
      change(3, clock.nowMs());
      addAdmin(access, name, onBox('root'));
      clock.advance(step === 1 ? -3_600_000 : 2_000);
    }
    const whole = listDecided(access.db, 100).map(({ cursor: _, ...entry }) => entry);
    expect(whole.length).toBe(13);
    for (const size of [1, 2, 3, 5]) {
      expect(inPages(access, size).map(({ cursor: _, ...entry }) => entry)).toEqual(whole);
    }
  });

  test('is read page by page at the same cost, however much it is', async () => {
    const { access, clock, change } = await world();
    change(100, clock.nowMs());
    const quickest = () => {
      const times = Array.from({ length: 7 }, () => {
        const before = performance.now();
        expect(listDecided(access.db, 51).length).toBe(51);
        return performance.now() - before;
      });
      return Math.min(...times);
    };
    const few = quickest();
    change(100_000, clock.nowMs());
    expect(quickest()).toBeLessThan(10 * few + 5);
  });
});
