import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { openFile } from '../../../shared/db/open.ts';
import { quotaPath } from '../../../shared/db/quota-store.ts';
import { closeLedger, saveLedger } from '../../../shared/keys/quota-file.ts';
import { accountOf, openLedger, spend } from '../../../shared/keys/quota-ledger.ts';
import { record, remainingAt } from '../../../shared/keys/ring.ts';
import { tempFolder, testClock } from '../../support/world.ts';

const folder = tempFolder();
let files = 0;

/** A new main database's path, and ledgers on it that remember what they reported. */
function world() {
  const path = join(folder, `${++files}`, 'profiles.db');
  const clock = testClock();
  const reports: string[] = [];
  const open = () => openLedger(path, clock, (level, sentence) => void reports.push(`${level}: ${sentence}`));
  return { path, clock, reports, open };
}

/** What all stamps take. */
const bytesOf = (ledger: Ledger) =>
  [...ledger.accounts.values()].flatMap(({ rings }) => rings).reduce((sum, ring) => sum + ring.stamps.byteLength, 0);

type Ledger = ReturnType<typeof openLedger>;

const KEY = {
  identifier: 'k7Qm2XaB',
  rateLimits: [
    { quota: 60, windowSeconds: 60 },
    { quota: 5_000, windowSeconds: 86_400 },
  ],
};

const use = (ledger: Ledger, count = 1, key = KEY) => spend(ledger, accountOf(ledger, key), count);
const left = (ledger: Ledger, key = KEY) => accountOf(ledger, key).rings.map((ring) => remainingAt(ring, ledger.now()));

describe('spending', () => {
  test('all limits or none, and how long it takes otherwise', () => {
    const ledger = world().open();
    expect(use(ledger, 60)).toBeNull();
    expect(left(ledger)).toEqual([0, 4_940]);
    expect(use(ledger)).toBe(60_000 + 1 / 1024);
    expect(use(ledger, 2)).toBe(60_000 + 1 / 1024);
    expect(use(ledger, 61)).toBe(Number.POSITIVE_INFINITY);
    expect(left(ledger)).toEqual([0, 4_940]);
    closeLedger(ledger);
  });
});

describe('several limits and any cost, against a naive record of everything', () => {
  const limit = fc.record({ quota: fc.integer({ min: 1, max: 40 }), windowSeconds: fc.constantFrom(1, 2, 3, 5, 60) });
  const limits = fc.uniqueArray(limit, { minLength: 1, maxLength: 4, selector: ({ windowSeconds }) => windowSeconds });
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

  test('all or none, exactly when all have room; and after the wait it is admitted, before it not', () => {
    const { clock, open } = world();
    const ledger = open();
    let keys = 0;
    fc.assert(
      fc.property(limits, steps, (rateLimits, sequence) => {
        const account = accountOf(ledger, { identifier: `key${++keys}`, rateLimits });
        const admitted: number[] = [];
        const hasRoom = (at: number, count: number) =>
          rateLimits.every(({ quota, windowSeconds }) => {
            const used = admitted.filter((time) => at - time <= windowSeconds * 1000).length;
            return used + count <= quota;
          });
        for (const { waitMs, count } of sequence) {
          clock.advance(waitMs);
          const now = ledger.now();
          const wait = spend(ledger, account, count);
          expect(wait === null).toBe(hasRoom(now, count));
          if (wait === null) for (let turn = 0; turn < count; turn++) admitted.push(now);
          else if (wait !== Number.POSITIVE_INFINITY) {
            expect(hasRoom(now + wait, count)).toBe(true);
            expect(hasRoom(now + wait - 1 / 1024, count)).toBe(false);
          }
        }
      }),
      { numRuns: 150 },
    );
    closeLedger(ledger);
  });
});

describe('over a restart', () => {
  test('a clean one forgets nothing', () => {
    const { clock, open, reports } = world();
    const first = open();
    use(first, 20);
    clock.advance(30_000);
    use(first, 30);
    closeLedger(first);
    const second = open();
    expect(left(second)).toEqual([10, 4_950]);
    clock.advance(30_000.5);
    expect(left(second)).toEqual([30, 4_950]);
    expect(use(second, 31)).toBeGreaterThan(29_999);
    closeLedger(second);
    clock.advance(86_400_000);
    const third = open();
    expect(left(third)).toEqual([60, 5_000]);
    closeLedger(third);
    expect(reports).toEqual([]);
  });

  test('a crash forgets only what came after the last write', () => {
    const { open } = world();
    const first = open();
    use(first, 20);
    saveLedger(first);
    use(first, 7);
    const second = open();
    expect(left(second)).toEqual([40, 4_980]);
    closeLedger(second);
  });

  test('writing is due within half a second of the first request', () => {
    const { open } = world();
    const ledger = open();
    expect(ledger.timer).toBeNull();
    use(ledger);
    const { timer } = ledger;
    expect(timer).not.toBeNull();
    use(ledger);
    expect(ledger.timer).toBe(timer);
    closeLedger(ledger);
    expect(ledger.timer).toBeNull();
  });

  test('a wall clock that was set back does not give quotas back', () => {
    const { path, clock, open } = world();
    const first = open();
    use(first, 60);
    clock.advance(50_000);
    closeLedger(first);
    const yesterday = testClock(clock.nowMs() - 86_400_000);
    const second = openLedger(path, yesterday, () => undefined);
    expect(use(second)).toBe(10_000 + 1 / 1024);
    yesterday.advance(10_000);
    // Exactly a window old is still in the window.
    expect(use(second)).toBe(1 / 1024);
    yesterday.advance(1 / 1024);
    expect(use(second)).toBeNull();
    closeLedger(second);
  });

  test('only part of a key’s windows is over', () => {
    const { clock, open } = world();
    let ledger = open();
    for (let turn = 1; turn <= 5; turn++) {
      use(ledger, 50);
      clock.advance(61_000);
      closeLedger(ledger);
      ledger = open();
      expect(left(ledger)).toEqual([60, 5_000 - 50 * turn]);
    }
    closeLedger(ledger);
  });
});

describe('the log of the file', () => {
  const keys = Array.from({ length: 5 }, (_, index) => ({ ...KEY, identifier: `key${index}` }));
  const rowsOf = (path: string, table: 'log' | 'pages' = 'log') => {
    const sqlite = openFile(quotaPath(path), 0);
    const { rows } = sqlite.query(`SELECT count(*) AS rows FROM ${table}`).get() as { rows: number };
    sqlite.close();
    return rows;
  };

  test('stays short however long the server runs, and what was saved is there after a crash at any time', () => {
    const { path, clock, open } = world();
    const ledger = open();
    for (let turn = 1; turn <= 3_000; turn++) {
      // The last key is used seldom, the first one much.
      use(ledger, 1, keys[turn % 500 === 0 ? 4 : turn % 4]);
      use(ledger, 5, keys[0]);
      clock.advance(3_000);
      saveLedger(ledger, 10);
      if (turn % 250 !== 0) continue;
      const afterCrash = open();
      for (const key of keys) expect(left(afterCrash, key)).toEqual(left(ledger, key));
      afterCrash.store?.close();
    }
    expect(rowsOf(path)).toBeLessThan(1_100);
    closeLedger(ledger);
  });

  test('has all of keys that are busy with little: their pages, each in a place of its own, are not written', () => {
    const { path, clock, open } = world();
    const ledger = open();
    const busy = keys.map((key) => ({ ...key, rateLimits: [{ quota: 1_000_000, windowSeconds: 1 }] }));
    for (let turn = 1; turn <= 2_000; turn++) {
      for (const key of busy) if (turn % 7 !== 0) use(ledger, 300, key);
      clock.advance(100);
      saveLedger(ledger);
      if (turn % 99 !== 0) continue;
      const afterCrash = open();
      for (const key of busy) expect(left(afterCrash, key)).toEqual(left(ledger, key));
      afterCrash.store?.close();
    }
    expect(rowsOf(path)).toBeLessThan(300);
    expect(rowsOf(path, 'pages')).toBe(0);
    closeLedger(ledger);
  });

  test('goes on after a restart, and a key that was forgotten comes back with nothing of before', () => {
    const { clock, open } = world();
    const brief = { identifier: 'brief', rateLimits: [{ quota: 9, windowSeconds: 60 }] };
    let ledger = open();
    for (let turn = 0; turn < 1_200; turn++) {
      clock.advance(turn % 30 === 0 ? 61_000 : 500);
      if (turn % 30 < 2) use(ledger, 1 + (turn % 30), brief);
      use(ledger, 1, keys[0]);
      saveLedger(ledger);
      if (turn % 37 !== 0) continue;
      const expected = [left(ledger, brief), left(ledger, keys[0])];
      ledger.store?.close();
      ledger = open();
      expect([left(ledger, brief), left(ledger, keys[0])]).toEqual(expected);
    }
    closeLedger(ledger);
  });

  test('is only what the pages lack, after a restart too', () => {
    const { open } = world();
    const first = open();
    // So much at once goes into pages.
    const much = { ...KEY, rateLimits: KEY.rateLimits.slice(1), identifier: 'much' };
    use(first, 200, much);
    use(first, 7);
    saveLedger(first);
    expect([...first.unfolded.keys()]).toEqual([KEY.identifier]);
    use(first, 1, much);
    saveLedger(first);
    first.store?.close();
    const second = open();
    expect([...second.unfolded.keys()].sort()).toEqual([KEY.identifier, 'much'].sort());
    expect([left(second, much), left(second)]).toEqual([[4_799], [53, 4_993]]);
    // In pages once more, though the log has a row of it.
    use(second, 100, much);
    saveLedger(second);
    second.store?.close();
    const third = open();
    expect([...third.unfolded.keys()]).toEqual([KEY.identifier]);
    use(third, 1);
    closeLedger(third);
    const fourth = open();
    expect([fourth.unfolded.size, left(fourth, much), left(fourth)]).toEqual([0, [4_699], [52, 4_992]]);
    closeLedger(fourth);
  });

  test('a row of it that is damaged says nothing, whatever it holds; the others stand', () => {
    const { path, open } = world();
    const first = open();
    use(first, 7);
    saveLedger(first);
    use(first, 2, { ...KEY, identifier: 'other' });
    saveLedger(first);
    first.store?.close();
    const file = openFile(quotaPath(path), 0);
    const row = file
      .query<{ seq: number; numbers: Uint8Array }, []>('SELECT seq, numbers FROM log ORDER BY seq DESC')
      .get();
    file.close();
    const { seq = 0, numbers: bytes = new Uint8Array() } = row ?? {};
    const numbers = [...new Float64Array(bytes.slice().buffer)];
    const oneWrong = fc
      .tuple(fc.nat(4), fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1, 0.5, 1e300, 5))
      .map(([at, wrong]) => new Uint8Array(Float64Array.from(numbers.with(at, wrong)).buffer));
    const cut = fc.nat(bytes.length - 1).map((length) => bytes.slice(0, length));
    fc.assert(
      fc.property(fc.oneof(oneWrong, cut, fc.uint8Array({ maxLength: 200 })), (damaged) => {
        const sqlite = openFile(quotaPath(path), 0);
        sqlite.run('UPDATE log SET numbers = ? WHERE seq = ?', [damaged, seq]);
        sqlite.close();
        const ledger = open();
        expect(left(ledger)).toEqual([53, 4_993]);
        ledger.store?.close();
      }),
    );
  });
});

describe('keys that are not used any more', () => {
  test('are forgotten, in memory and in the file', () => {
    const { path, clock, open } = world();
    const ledger = open();
    const brief = (identifier: string) => ({ identifier, rateLimits: [{ quota: 5, windowSeconds: 60 }] });
    for (let count = 0; count < 100; count++) use(ledger, 1, brief(`key${count}`));
    saveLedger(ledger);
    clock.advance(60_001);
    use(ledger, 1, brief('another'));
    saveLedger(ledger);
    expect([...ledger.accounts.keys()]).toEqual(['another']);
    closeLedger(ledger);
    const again = open();
    expect([...again.accounts.keys()]).toEqual(['another']);
    closeLedger(again);
    const sqlite = openFile(quotaPath(path), 0);
    expect(sqlite.query("SELECT DISTINCT identifier FROM pages WHERE identifier <> 'another'").all()).toEqual([]);
    sqlite.close();
  });

  test('10 000 used-up keys with the default limits stay under 100 MB', () => {
    const { open } = world();
    const ledger = open();
    for (let count = 0; count < 10_000; count++) {
      const account = accountOf(ledger, { ...KEY, identifier: `key${count}` });
      expect(account.rings.length).toBe(2);
    }
    const idle = bytesOf(ledger);
    for (const account of ledger.accounts.values()) {
      for (let turn = 0; turn < 60; turn++) spend(ledger, account);
    }
    expect(idle).toBeLessThan(1_000_000);
    expect(bytesOf(ledger)).toBeLessThan(10_000_000);
    // The day's limit used up too: its ring is at its longest.
    for (const account of ledger.accounts.values()) {
      const now = ledger.now() + 61_000;
      const day = account.rings[1];
      for (let turn = 0; turn < 988 && day !== undefined; turn++) record(day, now, 5);
    }
    expect(bytesOf(ledger)).toBeLessThan(43_000_000);
    ledger.dirty.length = 0;
    closeLedger(ledger);
  });
});

describe('a file that can’t be used', () => {
  test('is the owner’s alone, beside the database', () => {
    const { path, open } = world();
    const ledger = open();
    use(ledger);
    saveLedger(ledger);
    for (const suffix of ['', '-wal', '-shm']) expect(statSync(quotaPath(path) + suffix).mode & 0o777).toBe(0o600);
    expect(quotaPath('data/profiles.db')).toBe('data/profiles.db.quotas');
    closeLedger(ledger);
  });

  for (const [name, content] of [
    ['garbage', 'not a database at all'.repeat(500)],
    ['of another program', null],
  ] as const) {
    test(`${name} is set aside, and said`, () => {
      const { path, reports, open } = world();
      mkdirSync(join(path, '..'));
      if (content !== null) writeFileSync(quotaPath(path), content);
      else {
        const foreign = openFile(quotaPath(path), 0);
        foreign.run('CREATE TABLE theirs (x)');
        foreign.close();
      }
      const ledger = open();
      expect(use(ledger, 3)).toBeNull();
      closeLedger(ledger);
      expect(reports).toEqual([
        expect.stringMatching(/^warn: The quota file was unreadable and is now .*unreadable-\d+; /),
      ]);
      expect(readdirSync(join(path, '..')).some((file) => file.includes('.unreadable-'))).toBe(true);
      const again = open();
      expect(left(again)).toEqual([57, 4_997]);
      closeLedger(again);
    });
  }

  test('that can’t be opened stops nothing; once it can, everything is written', () => {
    const { path, reports, open } = world();
    mkdirSync(quotaPath(path), { recursive: true });
    const ledger = open();
    expect(use(ledger, 3)).toBeNull();
    saveLedger(ledger);
    saveLedger(ledger);
    expect(left(ledger)).toEqual([57, 4_997]);
    expect(reports).toEqual([expect.stringContaining('error: The quota file can not be opened')]);
    rmSync(quotaPath(path), { recursive: true });
    use(ledger, 1);
    closeLedger(ledger);
    expect(reports.at(-1)).toBe('info: Quotas are written again.');
    const again = open();
    expect(left(again)).toEqual([56, 4_996]);
    closeLedger(again);
  });

  test('that another program locks is tried again, and said once', () => {
    const { path, reports, open } = world();
    const ledger = open();
    use(ledger, 3);
    const other = openFile(quotaPath(path), 0);
    other.run('BEGIN IMMEDIATE');
    saveLedger(ledger);
    saveLedger(ledger);
    expect(reports).toEqual([expect.stringContaining('error: Quotas can not be written')]);
    other.run('ROLLBACK');
    other.close();
    use(ledger, 1);
    closeLedger(ledger);
    expect(reports.length).toBe(2);
    const again = open();
    expect(left(again)).toEqual([56, 4_996]);
    closeLedger(again);
  });
});
