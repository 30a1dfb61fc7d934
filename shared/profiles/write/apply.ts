import { MAX_NOTED_IDS, noteChanges } from '../../db/changes.ts';
import type { Sqlite, Tx } from '../../db/connect.ts';
import { noteErasure } from '../../db/erasures.ts';
import { COLUMN_LIST, SETTABLE_LIST, type StoredProfile } from '../field-values.ts';
import { prepareShownSize } from '../read/shown-size.ts';
import { createProfileReader } from '../record.ts';
import { MAX_LINE_BYTES, nameGivenTwice, type ProfileLine } from './line.ts';
import type { Name } from './line-values.ts';
import { type Clash, createStage, type TakenAt } from './name-claims.ts';
import { createRowWriter } from './write-row.ts';

/** A checked line on its way into the database. */
export type Entry = { number: number; bytes: number; line: ProfileLine };

/** What one pass over some lines did, and what stands against committing it. */
export type Applied = { imported: number; deleted: number };

/**
 * Erases the profile with this id, inside the transaction, and everything that belongs to it: its keys, which are above
 * this room, too. Returns whether there was such a profile.
 */
export type EraseById = (tx: Tx, id: number, nowMs: number) => boolean;

/** What a pass needs to know and whom it tells. */
export type ApplyOptions = {
  merge: boolean;
  /** Erases a profile with all that belongs to it. */
  erase: EraseById;
  /** The time of import, for `createdAt` and the history. */
  nowMs: number;
  /** Remembers which line took which name; a map, or a table where there may be too many. */
  takenAt: TakenAt;
  /** A line that can't be taken as things stand; the pass went on without it. */
  refuse: (number: number, reason: string) => void;
  /** A line that was taken and clashes: the pass must be rolled back. */
  clash: (clash: Clash) => void;
};

/** Applies lines in their order inside a transaction. */
export type Applier = (tx: Tx, entries: Iterable<Entry>, options: ApplyOptions) => Applied;

// A line grows when it is written out with all its fields and its numbers in full, but never eightfold.
const MAX_GROWTH = 8;

/**
 * Prepares the statements of an import once. Later lines win; names and auth IDs that are given up anywhere in the pass
 * are free for the others; an existing row is changed in place, never deleted and made anew, for keys refer to it. What
 * a pass changes is noted for other processes. A line after which lookups would show more of its profile than so many bytes
 * clashes.
 */
export function createApplier(sqlite: Sqlite, maxShownBytes: number): Applier {
  const reader = createProfileReader(sqlite);
  const shownSizeOf = prepareShownSize(sqlite);
  const mayBecomeTooLong = Math.min(MAX_LINE_BYTES, maxShownBytes) / MAX_GROWTH;
  const stage = createStage(sqlite);
  const writer = createRowWriter(sqlite);
  // Where a profile was there already, the next one probably is too, and looking first is cheaper than trying to insert.
  let looksFirst = false;

  /** Puts a row in where neither its id nor its auth ID is there yet: most lines need no other look at the table. */
  function insertNew(row: StoredProfile, number: number, takenAt: TakenAt): boolean {
    if (!writer.insert(row)) return false;
    if (row.authId !== null) takenAt.set(`auth:${row.authId}`, number);
    return true;
  }

  /** Returns why the line can't be taken, or null once it is; notes the profile in `changed` where it changes. */
  function put({ number, bytes, line }: Entry, options: ApplyOptions, changed: Set<number>): string | null {
    const { id } = line;
    const { takenAt } = options;
    let held = options.merge || looksFirst ? reader.row(id) : null;
    const base = options.merge ? held : null;
    const names = namesOf(line, base === null ? [] : stage.names(id));
    if (typeof names === 'string') return names;
    const [username] = names;
    if (username === undefined) return `username is missing, and there is no profile ${id} to merge the line into`;

    const row = Object.assign(
      base === null ? newRow(id, username.name, options.nowMs) : { ...base, username: username.name },
      line.columns,
    );
    const isNew = held === null && insertNew(row, number, takenAt);
    looksFirst = !isNew;
    let differs = isNew;
    if (!isNew) {
      held ??= reader.row(id);
      const wanted = row.authId;
      if (base === null || line.columns.authId !== undefined) {
        row.authId = stage.claimAuthId({ id, authId: wanted, held: held?.authId ?? null, line: number }, takenAt);
      }
      // An auth ID that is waited for changes the row later.
      differs = writer.replace(row, held) || row.authId !== wanted;
    }
    if (base === null || line.username !== undefined || line.aliases !== undefined) {
      differs = stage.claimNames(id, names, number, isNew, takenAt) || differs;
    }
    if (base === null || line.links !== undefined) differs = writer.putLinks(id, line.links ?? [], isNew) || differs;
    if (!differs) return null;
    if (base !== null || bytes > mayBecomeTooLong) checkLength(id, number, base === null || mayShowMore(line), options);
    // One too many is enough to know.
    if (changed.size <= MAX_NOTED_IDS) changed.add(id);
    return null;
  }

  function checkLength(id: number, number: number, showsMore: boolean, { clash }: ApplyOptions): void {
    const text = reader.line(id, stage.names(id).slice(1));
    const bytes = Buffer.byteLength(text);
    // The line has all that is shown, and more.
    const shownBytes = showsMore && bytes > maxShownBytes ? shownSizeOf(id) : 0;
    if (bytes > MAX_LINE_BYTES) {
      clash({ loser: number, winner: null, reason: 'the profile would take a line of more than 1 MiB when exported' });
    } else if (shownBytes > maxShownBytes) {
      const [kib, maxKib] = [Math.ceil(shownBytes / 1024), maxShownBytes / 1024];
      const reason = `the profile and its links would take ${kib} KiB as they are shown, and MAX_PROFILE_KIB allows ${maxKib}`;
      clash({ loser: number, winner: null, reason });
    }
  }

  return (tx, entries, options) => {
    const done = { imported: 0, deleted: 0 };
    const changed = new Set<number>();
    stage.begin();
    for (const entry of entries) {
      if (entry.line.deleted) {
        stage.forget(entry.line.id);
        if (options.erase(tx, entry.line.id, options.nowMs)) done.deleted++;
        continue;
      }
      const reason = put(entry, options, changed);
      if (reason === null) done.imported++;
      else options.refuse(entry.number, reason);
    }
    stage.settle(options.takenAt, options.clash);
    if (done.deleted > 0) noteErasure(sqlite, options.nowMs);
    noteChanges(sqlite, done.deleted > 0 ? null : changed);
    return done;
  };
}

// Of any length; the lengths of all other public fields are bounded.
const LONG_FIELDS = SETTABLE_LIST.filter(({ isPublic, form }) => isPublic && (form === 'text' || form === 'json'));

/** Whether a merged line may make its profile show much more. One that is too big already can still be banned or renamed. */
function mayShowMore({ columns, links }: ProfileLine): boolean {
  return links !== undefined || LONG_FIELDS.some(({ name }) => columns[name] !== undefined);
}

const DEFAULTS = Object.fromEntries(COLUMN_LIST.map(({ name, absent }) => [name, absent])) as StoredProfile;
const COMPUTED_DEFAULTS = COLUMN_LIST.flatMap(({ name, absent }) =>
  typeof absent === 'function' ? { name, absent } : [],
);

/** The row of a profile whose line gives nothing but its id and its username. */
function newRow(id: number, username: string, nowMs: number): StoredProfile {
  const row: Record<string, unknown> = { ...DEFAULTS, id, username };
  for (const { name, absent } of COMPUTED_DEFAULTS) row[name] = absent({ username, nowMs });
  return row as StoredProfile;
}

/** The names the profile is to have, the username first; `current` are the ones a line without names leaves it. */
function namesOf(line: ProfileLine, current: readonly Name[]): Name[] | string {
  const username = line.username ?? current[0];
  const aliases = line.aliases ?? current.slice(1);
  const twice = current.length === 0 ? null : nameGivenTwice(username, aliases);
  if (twice !== null) return `aliases ${twice}`;
  return username === undefined ? [] : [username, ...aliases];
}
