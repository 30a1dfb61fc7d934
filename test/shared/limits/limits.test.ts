import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { openFile } from '../../../shared/db/connect.ts';
import { quotaPath } from '../../../shared/limits/file/store.ts';
import type { Limits } from '../../../shared/limits/limits.ts';
import { openLimits } from '../../../shared/limits/one-thread.ts';
import { limitsTime, startTimeline } from '../../../shared/limits/time.ts';
import { eventually } from '../../support/eventually.ts';
import { rounds } from '../../support/rounds.ts';
import { left as leftOf, use as useOf } from '../../support/storage/limits.ts';
import { afterCrash, logSize } from '../../support/storage/quota-file.ts';
import { tempFolder, testClock } from '../../support/world.ts';

const folder = tempFolder();
let files = 0;

/** The path of a new main database, and a function that opens its limits and records their reports. */
function world() {
  const path = join(folder, `${++files}`, 'profiles.db');
  const clock = testClock();
  const reports: string[] = [];
  const open = (at = path) => openLimits(at, clock, (level, sentence) => void reports.push(`${level}: ${sentence}`));
  return { path, clock, reports, open };
}

const KEY = {
  identifier: 'k7Qm2XaB',
  rateLimits: [
    { quota: 60, windowSeconds: 60 },
    { quota: 5_000, windowSeconds: 86_400 },
  ],
};

// A new key object for each request, so that it has no cached account.
const use = (limits: Limits, count = 1, key = KEY) => useOf(limits, { ...key }, count);
const left = (limits: Limits, key = KEY) => leftOf(limits, { ...key });

describe('several limits and any cost, compared with a naive record of all requests', () => {
  const limit = fc.record({ quota: fc.integer({ min: 1, max: 40 }), windowSeconds: fc.constantFrom(1, 2, 3, 5, 60) });
  const granted = fc.uniqueArray(limit, { minLength: 1, maxLength: 4, selector: ({ windowSeconds }) => windowSeconds });
  const step = fc.record({
    waitMs: fc.oneof(
      fc.constantFrom(0, 1 / 1024, 500, 1_000, 2_000, 60_000),
      fc.double({ min: 0, max: 3_000, noNaN: true }),
    ),
    count: fc.oneof(
      { weight: 3, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 41 }) },
    ),
  });
  const steps = fc.array(step, { maxLength: 150, size: 'max' });

  test('a request is admitted exactly if all limits have room; a refused one after the wait, and not before', () => {
    const { clock, open } = world();
    const limits = open();
    const time = limitsTime(clock, startTimeline(clock, 0));
    let keys = 0;
    fc.assert(
      fc.property(granted, steps, (rateLimits, sequence) => {
        const account = limits.accountOf({ identifier: `key${++keys}`, rateLimits });
        const admitted: number[] = [];
        const hasRoom = (at: number, count: number) =>
          rateLimits.every(({ quota, windowSeconds }) => {
            const used = admitted.filter((time) => at - time <= windowSeconds * 1000).length;
            return used + count <= quota;
          });
        for (const { waitMs, count } of sequence) {
          clock.advance(waitMs);
          const now = time();
          const wait = limits.spend(account, count);
          expect(wait === null).toBe(hasRoom(now, count));
          const isImpossible = rateLimits.some(({ quota }) => count > quota);
          expect(wait === Number.POSITIVE_INFINITY).toBe(isImpossible);
          if (wait === null) for (let turn = 0; turn < count; turn++) admitted.push(now);
          else if (!isImpossible) {
            expect(hasRoom(now + wait, count)).toBe(true);
            expect(hasRoom(now + wait - 1 / 1024, count)).toBe(false);
          }
        }
      }),
      { numRuns: rounds(150) },
    );
    limits.close();
  });
});

describe('at a restart', () => {
  test('nothing is lost after a clean stop', () => {
    const { clock, open, reports } = world();
    const first = open();
    use(first, 20);
    clock.advance(30_000);
    use(first, 30);
    first.close();
    const second = open();
    expect(left(second)).toEqual([10, 4_950]);
    clock.advance(30_000.5);
    expect(left(second)).toEqual([30, 4_950]);
    expect(use(second, 31)).toBeGreaterThan(29_999);
    second.close();
    clock.advance(86_400_000);
    const third = open();
    expect(left(third)).toEqual([60, 5_000]);
    third.close();
    expect(reports).toEqual([]);
  });

  test('spent requests are saved automatically', async () => {
    const { path, open } = world();
    const limits = open();
    use(limits, 20);
    const written = () => {
      const second = open(afterCrash(path));
      const [minute] = left(second);
      second.close();
      return minute;
    };
    await eventually(() => written() === 40);
    expect(written()).toBe(40);
    limits.close();
  });

  test('a wall clock that was set while it was stopped: exactly that time does not count', () => {
    for (const [stepMs, waitMs] of [
      [-86_400_000, 60_000],
      [-20_000, 30_000],
      [5_000, 5_000],
    ] as const) {
      const { clock, open } = world();
      const first = open();
      use(first, 60);
      first.close();
      clock.advance(50_000);
      clock.jump(stepMs);
      const second = open();
      expect(use(second)).toBe(waitMs + 1 / 1024);
      clock.advance(waitMs);
      // A request that is exactly a window old still counts.
      expect(use(second)).toBe(1 / 1024);
      clock.advance(1 / 1024);
      expect(use(second, 60)).toBeNull();
      second.close();
    }
  });
});

test('limits follow the time that really passes, however the wall clock is set meanwhile', () => {
  const yearMs = 365 * 86_400_000;
  for (const stepMs of [-yearMs, -3_600_000, -1_000, 1_000, 3_600_000, yearMs]) {
    const { clock, open } = world();
    const limits = open();
    use(limits, 60);
    clock.advance(20_000);
    clock.jump(stepMs);
    expect(use(limits)).toBe(40_000 + 1 / 1024);
    clock.advance(40_000 + 1 / 1024);
    expect(use(limits, 60)).toBeNull();
    expect(use(limits)).toBe(60_000 + 1 / 1024);
    limits.close();
  }
});

describe('the log of the file', () => {
  const keys = Array.from({ length: 5 }, (_, index) => ({ ...KEY, identifier: `key${index}` }));

  test('stays short however long the server runs, and has all saves after a crash at any time', () => {
    const { path, clock, open } = world();
    const limits = open();
    for (let turn = 1; turn <= 3_000; turn++) {
      // The last key is used rarely, the first one a lot.
      use(limits, 1, keys[turn % 500 === 0 ? 4 : turn % 4]);
      use(limits, 5, keys[0]);
      clock.advance(3_000);
      void limits.save();
      if (turn % 1_000 !== 0) continue;
      const second = open(afterCrash(path));
      for (const key of keys) expect(left(second, key)).toEqual(left(limits, key));
      second.close();
    }
    // Four keys have up to 1 000 stamps of 4 bytes each, and as much again may be waiting to be rewritten.
    expect(logSize(path).bytes).toBeLessThan(60_000);
    limits.close();
  });

  test('stays short with busy keys that have short windows', () => {
    const { path, clock, open } = world();
    const limits = open();
    const busy = keys.map((key) => ({ ...key, rateLimits: [{ quota: 1_000_000, windowSeconds: 1 }] }));
    for (let turn = 1; turn <= 2_000; turn++) {
      for (const key of busy) if (turn % 7 !== 0) use(limits, 300, key);
      clock.advance(100);
      void limits.save();
      if (turn % 397 !== 0) continue;
      const second = open(afterCrash(path));
      for (const key of busy) expect(left(second, key)).toEqual(left(limits, key));
      second.close();
    }
    expect(logSize(path).bytes).toBeLessThan(20_000);
    limits.close();
  });

  test('continues after a restart, and a dropped key returns without its earlier requests', () => {
    const { clock, open, ...first } = world();
    let { path } = first;
    const brief = { identifier: 'brief', rateLimits: [{ quota: 9, windowSeconds: 60 }] };
    let limits = open();
    for (let turn = 0; turn < 1_200; turn++) {
      clock.advance(turn % 30 === 0 ? 61_000 : 500);
      if (turn % 30 < 2) use(limits, 1 + (turn % 30), brief);
      use(limits, 1, keys[0]);
      void limits.save();
      if (turn % 149 !== 0) continue;
      const expected = [left(limits, brief), left(limits, keys[0])];
      path = afterCrash(path);
      limits.close();
      limits = open(path);
      expect([left(limits, brief), left(limits, keys[0])]).toEqual(expected);
    }
    limits.close();
  });

  test('a damaged row is ignored, whatever it contains, but not the other rows', () => {
    const { path, open } = world();
    const first = open();
    use(first, 7);
    void first.save();
    use(first, 2, { ...KEY, identifier: 'other' });
    void first.save();
    const crashed = afterCrash(path);
    first.close();
    type Stored = { seq: number; numbers: Uint8Array; stamps: Uint8Array; identifiers: string; time: number };
    const file = openFile(quotaPath(crashed), 0);
    const { seq, ...row } = file.query<Stored, []>('SELECT * FROM log ORDER BY seq DESC').get() as Stored;
    file.close();
    const blob = (name: 'numbers' | 'stamps') =>
      fc
        .oneof(
          fc.nat(row[name].length - 1).map((length) => row[name].slice(0, length)),
          fc.uint8Array({ maxLength: 200 }),
          fc.tuple(fc.nat(row[name].length - 1), fc.integer({ min: 1, max: 255 })).map(([at, bits]) => {
            const bytes = row[name].slice();
            bytes[at] = (bytes[at] as number) ^ bits;
            return bytes;
          }),
        )
        .map((damaged) => [name, damaged] as const);
    const text = fc.constantFrom('', 'k7Qm2XaB', 'other other').map((damaged) => ['identifiers', damaged] as const);
    const time = fc.constantFrom(0, 1e300, row.time - 1).map((damaged) => ['time', damaged] as const);
    fc.assert(
      fc.property(fc.oneof(blob('numbers'), blob('stamps'), text, time), ([name, damaged]) => {
        const damagedPath = afterCrash(crashed);
        const sqlite = openFile(quotaPath(damagedPath), 0);
        sqlite.run(`UPDATE log SET ${name} = ? WHERE seq = ?`, [damaged, seq]);
        sqlite.close();
        const limits = open(damagedPath);
        expect([left(limits), left(limits, { ...KEY, identifier: 'other' })]).toEqual([
          [53, 4_993],
          [60, 5_000],
        ]);
        limits.close();
      }),
    );
  });

  test('the requests of a damaged row count as if they were made at the time of the next row', () => {
    const { path, clock, open } = world();
    const first = open();
    for (let turn = 0; turn < 3; turn++) {
      use(first, 10);
      void first.save();
      clock.advance(10_000);
    }
    const crashed = afterCrash(path);
    first.close();
    const file = openFile(quotaPath(crashed), 0);
    file.run('UPDATE log SET checksum = 0 WHERE seq = 2');
    file.close();
    const second = open(crashed);
    expect(left(second)).toEqual([30, 4_970]);
    clock.advance(30_001);
    expect(left(second)).toEqual([40, 4_970]);
    clock.advance(10_000);
    expect(left(second)).toEqual([40, 4_970]);
    clock.advance(10_000);
    expect(left(second)).toEqual([60, 4_970]);
    second.close();
  });
});

describe('keys that are no longer used', () => {
  test('are dropped, in memory and in the file', () => {
    const { path, clock, open } = world();
    const limits = open();
    const brief = (identifier: string) => ({ identifier, rateLimits: [{ quota: 5, windowSeconds: 60 }] });
    const accounts = Array.from({ length: 100 }, (_, count) => limits.accountOf(brief(`key${count}`)));
    for (const account of accounts) limits.spend(account, 1);
    void limits.save();
    clock.advance(60_001);
    use(limits, 1, brief('another'));
    void limits.save();
    expect(accounts.every(({ isDropped }) => isDropped)).toBe(true);
    limits.close();
    const sqlite = openFile(quotaPath(path), 0);
    const rows = sqlite.query<{ identifiers: string }, []>('SELECT identifiers FROM log').all();
    expect(rows.map(({ identifiers }) => identifiers).filter(Boolean)).toEqual(['another']);
    sqlite.close();
  });
});

describe('a file that can’t be used', () => {
  test('is beside the database, with mode 0600', () => {
    const { path, open } = world();
    const limits = open();
    use(limits);
    void limits.save();
    for (const suffix of ['', '-wal', '-shm']) expect(statSync(quotaPath(path) + suffix).mode & 0o777).toBe(0o600);
    expect(quotaPath('data/profiles.db')).toBe('data/profiles.db.quotas');
    limits.close();
  });

  for (const [name, content] of [
    ['garbage', 'not a database at all'.repeat(500)],
    ['of another program', null],
  ] as const) {
    test(`${name} is renamed and reported`, () => {
      const { path, reports, open } = world();
      mkdirSync(join(path, '..'));
      if (content !== null) writeFileSync(quotaPath(path), content);
      else {
        const foreign = openFile(quotaPath(path), 0);
        foreign.run('CREATE TABLE theirs (x)');
        foreign.close();
      }
      const limits = open();
      expect(use(limits, 3)).toBeNull();
      limits.close();
      expect(reports).toEqual([
        expect.stringMatching(/^warn: The quota file was unreadable and was renamed to .*unreadable-\d+; /),
      ]);
      expect(readdirSync(join(path, '..')).some((file) => file.includes('.unreadable-'))).toBe(true);
      const again = open();
      expect(left(again)).toEqual([57, 4_997]);
      again.close();
    });
  }

  test('because it can’t be opened stops nothing, and everything is written once it can', () => {
    const { path, reports, open } = world();
    mkdirSync(quotaPath(path), { recursive: true });
    const limits = open();
    expect(use(limits, 3)).toBeNull();
    void limits.save();
    void limits.save();
    expect(left(limits)).toEqual([57, 4_997]);
    expect(reports).toEqual([expect.stringContaining('error: The quota file cannot be opened')]);
    rmSync(quotaPath(path), { recursive: true });
    use(limits, 1);
    limits.close();
    expect(reports.at(-1)).toBe('info: Quotas can be written again.');
    const again = open();
    expect(left(again)).toEqual([56, 4_996]);
    again.close();
  });

  test('because another program locks it is retried, and reported once', () => {
    const { path, reports, open } = world();
    const limits = open();
    use(limits, 3);
    const other = openFile(quotaPath(path), 0);
    other.run('BEGIN IMMEDIATE');
    void limits.save();
    void limits.save();
    expect(reports).toEqual([expect.stringContaining('error: Quotas cannot be written')]);
    other.run('ROLLBACK');
    other.close();
    use(limits, 1);
    limits.close();
    expect(reports.length).toBe(2);
    const again = open();
    expect(left(again)).toEqual([56, 4_996]);
    again.close();
  });
});
