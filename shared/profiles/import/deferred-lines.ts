import type { Sqlite } from '../../db/connect.ts';
import { type ProfileLine, parseLine } from '../edit/line.ts';
import type { Refusal } from '../edit/refusal.ts';
import type { TextEntry } from './import-run.ts';
import { createWishes } from './wishes.ts';

/**
 * Lines that were refused only because another profile had a name or auth ID, each with all later lines of its profile.
 * They are retried at the end: by then the other profile may have given it up, or its own line may be deferred too, as
 * with two profiles that swap their names.
 */
export type DeferredLines = {
  /** Defers a line. Returns false if there is no room for it. */
  add: (entry: TextEntry, refusal: Refusal) => boolean;
  /** Whether a line of this profile is deferred; then later ones must not be applied before it. */
  has: (id: number) => boolean;
  count: () => number;
  /**
   * Yields the lines that can now be applied; lines that wait for each other are in one group. The other lines are
   * refused. Call it once.
   */
  groups: () => Generator<TextEntry[]>;
};

type OnRefused = (entry: TextEntry, refusal: Refusal) => void;

/** The ids of their profiles are in memory, the lines in a temporary table. */
const MAX_LINES = 100_000;

type Row = { number: number; bytes: number; text: string };

/** Creates the temporary table. `merge` is how lines are interpreted. */
export function createDeferredLines(sqlite: Sqlite, merge: boolean, onRefused: OnRefused): DeferredLines {
  sqlite.run('DROP TABLE IF EXISTS temp.deferred');
  sqlite.run('CREATE TEMP TABLE deferred (id, number, bytes, text, PRIMARY KEY (id, number)) WITHOUT ROWID');
  const insert = sqlite.prepare('INSERT INTO temp.deferred VALUES (?, ?, ?, ?)');
  const linesOf = sqlite.prepare<Row, [number]>('SELECT * FROM temp.deferred WHERE id = ? ORDER BY number');
  const remove = sqlite.prepare('DELETE FROM temp.deferred WHERE id = ? AND number = ?');
  const idsInOrder = sqlite.prepare<{ id: number }, []>(
    'SELECT id FROM temp.deferred GROUP BY id ORDER BY min(number)',
  );
  const ids = new Set<number>();
  let count = 0;

  const read = (id: number): TextEntry[] =>
    linesOf.all(id).map(({ number, bytes, text }) => {
      return { number, bytes, text, line: parseLine(text, merge) as ProfileLine };
    });
  const refuse = (id: number, number: number, refusal: Refusal): void => {
    const entry = read(id).find((one) => one.number === number) as TextEntry;
    remove.run(id, number);
    onRefused(entry, refusal);
  };
  return {
    add: ({ number, bytes, text, line: { id } }) => {
      if (count >= MAX_LINES) return false;
      insert.run(id, number, bytes, text);
      ids.add(id);
      count++;
      return true;
    },
    has: (id) => ids.has(id),
    count: () => count,
    groups: function* () {
      const wishes = createWishes(sqlite, merge);
      const waiting = idsInOrder.all().map(({ id }) => id);
      for (const id of waiting) wishes.set(id, read(id));
      const doubtful = [...waiting];
      for (let id = doubtful.pop(); id !== undefined; id = doubtful.pop()) {
        const hopeless = wishes.hopelessOf(id);
        if (hopeless === null) continue;
        refuse(id, hopeless.line, hopeless.refusal);
        wishes.set(id, read(id));
        // Without that line, the profile may keep a name that others wait for, or need another one.
        doubtful.push(...wishes.waitersOf(id), id);
      }
      for (const group of connected(waiting, wishes.holdersOf)) {
        const entries = group.flatMap(read).sort((a, b) => a.number - b.number);
        if (entries.length > 0) yield entries;
      }
    },
  };
}

/** Yields the groups of profiles that wait for each other, including groups of one. */
function* connected(ids: readonly number[], holdersOf: (id: number) => number[]): Generator<number[]> {
  const beside = new Map<number, number[]>(ids.map((id) => [id, []]));
  for (const id of ids) {
    for (const other of holdersOf(id)) {
      beside.get(id)?.push(other);
      beside.get(other)?.push(id);
    }
  }
  const seen = new Set<number>();
  for (const first of ids) {
    if (seen.has(first)) continue;
    seen.add(first);
    const group = [first];
    // The list grows during the loop.
    for (const id of group) {
      for (const other of beside.get(id) ?? []) {
        if (seen.has(other)) continue;
        seen.add(other);
        group.push(other);
      }
    }
    yield group;
  }
}
