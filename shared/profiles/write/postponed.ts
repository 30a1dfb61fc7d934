import type { Sqlite } from '../../db/connect.ts';
import type { TextEntry } from './import-run.ts';
import { type ProfileLine, parseLine } from './line.ts';
import { heldByOther, type Refusal } from './refusal.ts';

/**
 * Lines that were refused only for a name or auth ID that another profile held. They are tried again at the end, since
 * that profile may have given it up meanwhile, or its own line may wait here too: two profiles that swap their names.
 */
export type Postponed = {
  /** Keeps a line for the end. False where there is no room for more. */
  add: (entry: TextEntry, refusal: Refusal) => boolean;
  /** A later line for this profile was applied: one that waits may not undo that any more, and is refused. */
  overtake: (id: number) => void;
  count: () => number;
  /** The lines that may go in now, those together that wait for each other; the others are refused. Call it once. */
  groups: () => Generator<TextEntry[]>;
};

/** Told of the lines that are refused for good. */
type OnRefused = (entry: TextEntry, refusal: Refusal) => void;

/** The ids of so many lines are in memory; the lines themselves are in a temporary table. */
const MAX_LINES = 100_000;

type Row = { number: number; bytes: number; text: string; refusal: string };

/** Makes the temporary table. `merge` tells how the lines are read. */
export function createPostponed(sqlite: Sqlite, merge: boolean, onRefused: OnRefused): Postponed {
  sqlite.run('DROP TABLE IF EXISTS temp.postponed');
  sqlite.run('CREATE TEMP TABLE postponed (id INTEGER PRIMARY KEY, number, bytes, text, refusal)');
  const insert = sqlite.prepare('INSERT INTO temp.postponed VALUES (?, ?, ?, ?, ?)');
  const select = sqlite.prepare<Row, [number]>('SELECT * FROM temp.postponed WHERE id = ?');
  const remove = sqlite.prepare('DELETE FROM temp.postponed WHERE id = ?');
  const inOrder = sqlite.prepare<{ id: number }, []>('SELECT id FROM temp.postponed ORDER BY number');
  const holders = prepareHolders(sqlite);
  const ids = new Set<number>();

  const read = (id: number): TextEntry & { refusal: Refusal } => {
    const { number, bytes, text, refusal } = select.get(id) as Row;
    return { number, bytes, text, line: parseLine(text, merge) as ProfileLine, refusal: JSON.parse(refusal) };
  };
  const refuse = (id: number): void => {
    const { refusal, ...entry } = read(id);
    ids.delete(id);
    remove.run(id);
    // Meanwhile somebody else may hold the name.
    onRefused(entry, holders.of(entry.line)[0]?.refusal ?? refusal);
  };
  return {
    add: (entry, refusal) => {
      const { id } = entry.line;
      if (ids.has(id)) refuse(id);
      if (ids.size >= MAX_LINES) return false;
      insert.run(id, entry.number, entry.bytes, entry.text, JSON.stringify(refusal));
      ids.add(id);
      return true;
    },
    overtake: (id) => {
      if (ids.has(id)) refuse(id);
    },
    count: () => ids.size,
    groups: function* () {
      const waitsFor = new Map<number, number[]>();
      for (const { id } of inOrder.all())
        waitsFor.set(
          id,
          holders.of(read(id).line).map(({ holder }) => holder),
        );
      for (const id of hopelessOf(waitsFor)) {
        waitsFor.delete(id);
        refuse(id);
      }
      for (const group of connected(waitsFor)) {
        yield group.map((id) => read(id)).sort((a, b) => a.number - b.number);
      }
    },
  };
}

/** Finds the other profiles that hold what a line wants, and why the line would be refused for each. */
function prepareHolders(sqlite: Sqlite) {
  const ofName = sqlite.prepare<{ id: number }, [string]>(
    'SELECT profile_id AS id FROM profile_names WHERE folded = ?',
  );
  const ofAuthId = sqlite.prepare<{ id: number }, [string]>('SELECT id FROM profiles WHERE auth_id = ?');
  return {
    of: ({ id, username, aliases = [], columns }: ProfileLine): { holder: number; refusal: Refusal }[] => {
      const held: { holder: number; refusal: Refusal }[] = [];
      for (const [position, name] of [username, ...aliases].entries()) {
        const holder = name === undefined ? id : (ofName.get(name.folded)?.id ?? id);
        if (name !== undefined && holder !== id) {
          held.push({ holder, refusal: heldByOther(holder, { name: name.name, position }) });
        }
      }
      const holder = columns.authId == null ? id : (ofAuthId.get(columns.authId)?.id ?? id);
      if (holder !== id) held.push({ holder, refusal: heldByOther(holder) });
      return held;
    },
  };
}

/** Those that wait for a profile that gives nothing up: it has no line here, or its own line is hopeless. */
function hopelessOf(waitsFor: ReadonlyMap<number, readonly number[]>): Set<number> {
  const waiters = new Map<number, number[]>();
  for (const [id, others] of waitsFor)
    for (const other of others) waiters.set(other, [...(waiters.get(other) ?? []), id]);
  const hopeless = new Set<number>();
  const staying = [...waiters.keys()].filter((id) => !waitsFor.has(id));
  for (let id = staying.pop(); id !== undefined; id = staying.pop()) {
    for (const waiter of waiters.get(id) ?? []) {
      if (hopeless.has(waiter)) continue;
      hopeless.add(waiter);
      staying.push(waiter);
    }
  }
  return hopeless;
}

/** The groups of profiles that wait for each other, a profile alone being one too. */
function* connected(waitsFor: ReadonlyMap<number, readonly number[]>): Generator<number[]> {
  const beside = new Map<number, number[]>(Array.from(waitsFor.keys(), (id) => [id, []]));
  for (const [id, others] of waitsFor) {
    for (const other of others) {
      beside.get(id)?.push(other);
      beside.get(other)?.push(id);
    }
  }
  const seen = new Set<number>();
  for (const first of waitsFor.keys()) {
    if (seen.has(first)) continue;
    seen.add(first);
    const group = [first];
    // The list grows while it is walked.
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
