import { mkdirSync, renameSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Actor } from '../actor.ts';
import { NOBODY, type RestoredPeople, readPeople, settlePeople } from '../admins/restored-people.ts';
import { systemClock } from '../clock.ts';
import { openBare, type Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { giveToOwnerOf } from '../db/owner.ts';
import { realPath } from '../db/real-path.ts';
import { withTables } from '../db/tables.ts';
import { type KeptAside, setAside } from '../db-files/old-database.ts';
import { lockForServing } from '../db-files/serving.ts';
import { copyInto, syncPath, type Verified, verifyFile } from '../db-files/snapshot.ts';
import { withUnfinished } from '../db-files/unfinished.ts';
import { logRestore } from '../erasure/service-log.ts';
import { fileRefusal } from '../errors.ts';
import { type Dropped, dropRestoredMails } from '../mail/outbox.ts';
import { removeSessionsFile } from '../sessions-file/sessions-file.ts';
import { type Facts, refuseOtherVersion, type ShownVersion, versionOf } from '../shown-version.ts';
import {
  eraseAgain,
  readErasedProfiles,
  readErasedProfilesAt,
  type UndoneErasure,
  undoneErasures,
} from './undone-erasures.ts';

/** A restore that is ready to run: the source is intact, and no server can start until `release`. */
export type Restore = {
  source: Verified;
  /** The erasures of the last 40 days that the restore repeats; null if there is no readable old database. */
  undone: UndoneErasure[] | null;
  /**
   * Replaces the database with the source, and logs that there. After an error the database is unchanged;
   * `changed_since` means that something differs from what was announced. Mails waiting in the source are dropped,
   * since they may have been sent; everybody is signed out. What the old database shows to have ended since stays so:
   * profiles erased, and admins, passkeys and tokens removed.
   */
  run: (by: Actor) => Restored;
  release: () => void;
};

/**
 * The result: where the old database is now (null if there was none), dropped mails, and the people that the old database lacks.
 * They are restored only if there was no readable one.
 */
export type Restored = { kept: KeptAside | null; dropped: Dropped[]; people: RestoredPeople; areRestored: boolean };

/**
 * Verifies a backup and makes sure that no server is running. Throws `refused` if a server is running, and for a source that is
 * missing, damaged, not a database of this program, of a newer schema, or the database itself.
 */
export function prepareRestore(databasePath: string, file: string): Restore {
  const path = guardDatabase(databasePath, () => refuseItself(databasePath, file));
  const lock = guardDatabase(path, () => lockForServing(path));
  try {
    const shown = versionOf(factsOfBackup(file));
    const source = verifyFile(file, 'read');
    const undone = guardDatabase(file, () => undoneBy(file, path));
    const backup = { file, shown, undone };
    return {
      source,
      undone,
      run: (by) => replaceDatabase(path, backup, by),
      release: () => lock.close(),
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

function undoneBy(file: string, path: string): UndoneErasure[] | null {
  const erased = readErasedProfilesAt(path);
  return erased === null ? null : withFile(file, 'read', (backup) => undoneErasures(backup, erased));
}

/** Returns the database's path with links resolved. Throws `refused` if the backup is missing, or the same file. */
function refuseItself(databasePath: string, file: string): string {
  const path = realPath(databasePath);
  const source = statBackup(file);
  const current = statSync(path, { throwIfNoEntry: false });
  if (current?.ino === source.ino && current.dev === source.dev) {
    throw fileRefusal(`${file} is the database itself, not a backup of it.`);
  }
  return path;
}

function statBackup(file: string): Stats {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw fileRefusal(`There is no file ${file}.`);
  if (!found.isFile()) throw fileRefusal(`${file} is not a file.`);
  return found;
}

/** A verified backup, and the erasures that it would undo (null if unknown). */
type Backup = { file: string; shown: ShownVersion; undone: UndoneErasure[] | null };

/** The facts that identify the verified backup file, to detect that it was replaced or written to. */
function factsOfBackup(file: string): Facts {
  const states = [file, `${file}-wal`].map((path) => {
    const found = statSync(path, { throwIfNoEntry: false, bigint: true });
    // Reading a database can leave an empty log beside it.
    if (found === undefined || found.size === 0n) return null;
    return [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].map(String);
  });
  return { backup: [states, 'it was written to or replaced'] };
}

function replaceDatabase(path: string, backup: Backup, by: Actor): Restored {
  return guardDatabase(path, () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return withUnfinished(path, path, (copy) => replaceByCopy(path, backup, copy, by));
  });
}

function replaceByCopy(path: string, backup: Backup, temporary: string, by: Actor): Restored {
  const { file, shown } = backup;
  const like = statSync(path, { throwIfNoEntry: false }) === undefined ? dirname(path) : path;
  copyBackup(file, temporary);
  refuseOtherVersion(shown, `The backup ${file}`, () => factsOfBackup(file));
  const dropped = withFile(temporary, 'write', (copy) => dropRestoredMails(withTables({ $client: copy })));
  giveToOwnerOf(like, temporary);
  const { kept, prepared } = setAside(path, {
    read: (old) => ({ people: readPeople(old), erased: readErasedProfiles(old) }),
    prepare: (old) => {
      const found = withFile(temporary, 'write', (copy) => {
        const decision = { isRestored: old === null, by, atMs: systemClock.nowMs() };
        const people = settlePeople(copy, old?.people ?? NOBODY, decision);
        const undone = old === null ? null : undoneErasures(copy, old.erased);
        refuseOtherErasures(backup, undone);
        eraseAgain(copy, undone ?? [], { by, clock: systemClock });
        logRestore(copy, decision);
        return { people, areRestored: decision.isRestored };
      });
      syncPath(temporary);
      return found;
    },
    replace: () => {
      // Whoever is signed in may have been somebody else, or nobody, when the backup was made. Sessions are removed
      // first, so that a crash in between leaves none beside the restored database.
      removeSessionsFile(path);
      renameSync(temporary, path);
    },
  });
  syncReplaced(path, kept);
  return { kept, dropped, ...prepared };
}

/** Flushes the new name to the disk. Throws `refused`, with the locations of both databases, if the disk fails. */
function syncReplaced(path: string, kept: KeptAside | null): void {
  try {
    syncPath(dirname(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const old = kept === null ? '' : ` The old database is kept as ${kept.path}.`;
    const sentence = `The backup has replaced ${path}, but the disk did not confirm it (${code}): check the disk, then restore again.${old}`;
    throw fileRefusal(sentence, error);
  }
}

/** Throws `changed_since` if a profile was erased after the undone erasures were announced. */
function refuseOtherErasures({ undone: announced }: Backup, undone: UndoneErasure[] | null): void {
  // For an unreadable database nothing was announced.
  if (announced === null) return;
  const facts = (erasures: UndoneErasure[] | null): Facts => ({ erasures: [erasures, 'other profiles were erased'] });
  refuseOtherVersion(versionOf(facts(announced)), 'The database', () => facts(undone));
}

function withFile<T>(path: string, access: 'read' | 'write', act: (sqlite: Sqlite) => T): T {
  using sqlite = openBare(path, access);
  return act(sqlite);
}

/** Copies a backup, with a write-ahead log beside it, as `copyInto` does. */
function copyBackup(file: string, temporary: string): Verified {
  return withFile(file, 'read', (source) => copyInto(source, temporary, file));
}
