import type { Sqlite } from '../db/connect.ts';
import { expire, newWindow, record, TICK_MS, type Window } from './window.ts';

// What keys have spent is stored in the table `key_quotas` as a log, so that a save writes little: a row has what keys have spent
// since the row before, and for some of them everything until then, so that the rows before those are no longer needed.

/** A row of `key_quotas`. `at` is the time of the limits in milliseconds since 1970; no request in it is newer. */
export type QuotaRow = { id: number; at: number; spent: string };

/** A key's windows that were read, and the oldest row that they came from. */
type StoredKey = { windows: Window[]; wholeRow: number };

/** Everything read from the table: the keys that were written whole the longest ago first. */
export type Stored = { keys: ReadonlyMap<string, StoredKey>; lastRow: number; lastTime: number };

// In rows times are ages: ticks before the row's time, so that they are short. A window is [quota, seconds, age, count, age, …].
type Row = {
  whole: [identifier: string, windows: number[][]][];
  /** [identifier, age, count, age, …]: what was spent of each of the current limits. */
  since: [string, ...number[]][];
};

/** Writes a row's text; `since` has times and counts of requests by identifier. */
export function rowText(
  at: number,
  whole: ReadonlyMap<string, { windows: readonly Window[] }>,
  since: ReadonlyMap<string, readonly number[]>,
): string {
  const age = (time: number) => Math.round((at - time) / TICK_MS);
  const numbersOf = ({ quota, windowMs, times, counts, first }: Window) => {
    const numbers = [quota, windowMs / 1000];
    for (let group = first; group < times.length; group++) {
      numbers.push(age(times[group] as number), counts[group] as number);
    }
    return numbers;
  };
  const row: Row = {
    whole: [...whole].map(([identifier, { windows }]) => [identifier, windows.map(numbersOf)]),
    since: [...since].map(([identifier, spent]) => {
      return [identifier, ...spent.map((number, index) => (index % 2 === 0 ? age(number) : number))];
    }),
  };
  return JSON.stringify(row);
}

/** Reads the table, oldest row first. */
export function readQuotaRows(sqlite: Sqlite): QuotaRow[] {
  return sqlite.prepare<QuotaRow, []>('SELECT id, at, spent FROM key_quotas ORDER BY id').all();
}

/** Reads what keys have spent. */
export function readStored(sqlite: Sqlite): Stored {
  const keys = new Map<string, StoredKey>();
  let [lastRow, lastTime] = [0, 0];
  for (const { id, at, spent } of readQuotaRows(sqlite)) {
    const { whole, since }: Row = JSON.parse(spent);
    for (const [identifier, windows] of whole) {
      keys.delete(identifier);
      keys.set(identifier, { windows: windows.map((numbers) => readWindow(numbers, at)), wholeRow: id });
    }
    for (const [identifier, ...numbers] of since) {
      for (const window of keys.get(identifier)?.windows ?? []) addTo(window, numbers, at);
    }
    [lastRow, lastTime] = [id, Math.max(lastTime, at)];
  }
  return { keys, lastRow, lastTime };
}

function readWindow(numbers: readonly number[], at: number): Window {
  const [quota = 0, windowSeconds = 0] = numbers;
  const window = newWindow({ quota, windowSeconds });
  for (let index = 2; index < numbers.length; index += 2) {
    const count = numbers[index + 1] as number;
    window.times.push(at - (numbers[index] as number) * TICK_MS);
    window.counts.push(count);
    window.used += count;
  }
  return window;
}

/** Records requests as they were recorded when they were made. */
function addTo(window: Window, numbers: readonly number[], at: number): void {
  for (let index = 0; index < numbers.length; index += 2) {
    const time = at - (numbers[index] as number) * TICK_MS;
    expire(window, time);
    record(window, time, numbers[index + 1] as number);
  }
}

/** Prepares the statements that add a row and delete those below `neededFrom`, for use in a transaction. */
export function prepareQuotaRows(sqlite: Sqlite): (row: QuotaRow, neededFrom: number) => void {
  const insert = sqlite.prepare<undefined, [QuotaRow]>(
    // The row exists if its commit failed on the disk, and was found in the log nevertheless.
    'INSERT INTO key_quotas (id, at, spent) VALUES ($id, $at, $spent) ON CONFLICT DO UPDATE SET at = $at, spent = $spent',
  );
  const remove = sqlite.prepare<undefined, [number]>('DELETE FROM key_quotas WHERE id < ?');
  return (row, neededFrom) => {
    insert.run(row);
    remove.run(neededFrom);
  };
}

/** Replaces what keys have spent in one database by what they have spent in another; for a restore. */
export function replaceQuotaRows(sqlite: Sqlite, rows: readonly QuotaRow[]): void {
  sqlite.run('DELETE FROM key_quotas');
  const add = prepareQuotaRows(sqlite);
  for (const row of rows) add(row, 0);
}
