import { closeSync, existsSync, linkSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { eq, inArray } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import { systemClock } from '../clock.ts';
import { type Db, openAsItIs, type Sqlite, type Tx, withTables } from '../db/connect.ts';
import { databaseFault, guardDatabase, hasFailedOnDisk, isDamage } from '../db/faults.ts';
import { giveToOwnerOf, realPath } from '../db/file.ts';
import { APPLICATION_ID, migrate } from '../db/migrate.ts';
import { admins, apiKeys, backendTokens, erasedProfiles, type KeyState, passkeys, profiles } from '../db/schema.ts';
import { write } from '../db/write.ts';
import { eraseProfiles } from '../erasure.ts';
import { AppError, fileRefusal } from '../errors.ts';
import { addEvent } from '../events.ts';
import { endOf, hasEnded, isFrom, MOVE_NAMES, MOVES, type Move, SLOT_HOLDERS, stateAt } from '../keys/key.ts';
import { moveKey } from '../keys/record.ts';
import { type QuotaRow, readQuotaRows, replaceQuotaRows } from '../limits/stored.ts';
import type { MailConfig } from '../mail/outbox.ts';
import { setBanned } from '../profiles/apply.ts';
import { copyInto, fileTime, removeUnfinished, syncPath, type Verified, verifyFile, withCopy } from './copy.ts';
import { takeServerLock } from './open.ts';

/** A restore that is ready to run: the backup is intact, and no server can start until `release`. */
type Restore = {
  source: Verified;
  /**
   * Replaces the database with the backup, and logs that there. After an error the database is unchanged. Everybody is
   * signed out, waiting mails are dropped, and what was ended in the replaced database stays so.
   */
  run: (by: Actor) => Restored;
  release: () => void;
};

/** Where the replaced database is now; null if there was none. If it was unreadable, nothing was taken from it. */
export type Restored = Kept & { replaced: { path: string; isReadable: boolean } | null };

/**
 * Verifies a backup and makes sure that no server is running. Throws `refused` if a server is running, and for a backup
 * that is missing, damaged, not a database of this program, of a newer schema, or the database itself.
 */
export function prepareRestore(databasePath: string, file: string, config: MailConfig): Restore {
  const path = guardDatabase(databasePath, () => refuseItself(databasePath, file));
  const lock = takeServerLock(path);
  try {
    const backup = { file, mark: markOf(file) };
    return {
      source: verifyFile(file, 'read'),
      run: (by) => guardDatabase(path, () => replaceDatabase(path, backup, by, config)),
      release: () => lock.close(),
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Returns the database's path with links resolved. Throws `refused` if the backup is missing, or the same file. */
function refuseItself(databasePath: string, file: string): string {
  const path = realPath(databasePath);
  const source = statSync(file, { throwIfNoEntry: false });
  if (source === undefined) throw fileRefusal(`There is no file ${file}.`);
  if (!source.isFile()) throw fileRefusal(`${file} is not a file.`);
  const current = statSync(path, { throwIfNoEntry: false });
  if (current?.ino === source.ino && current.dev === source.dev) {
    throw fileRefusal(`${file} is the database itself, not a backup of it.`);
  }
  return path;
}

/** What changes if another file gets this name, or somebody writes to the file. */
function markOf(file: string): string {
  const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
  return [dev, ino, size, mtimeNs].join();
}

function replaceDatabase(
  path: string,
  { file, mark }: { file: string; mark: string },
  by: Actor,
  config: MailConfig,
): Restored {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // The caller holds the server's lock, so a file of this name was left by a restore that was killed.
  const unfinished = `${path}.unfinished`;
  removeUnfinished(unfinished);
  closeSync(openSync(unfinished, 'wx', 0o600));
  let old: OldDatabase | null = null;
  try {
    using source = openAsItIs(file, 'read');
    copyInto(source, unfinished, file);
    if (markOf(file) !== mark) throw fileRefusal(`${file} has changed since it was checked; nothing was replaced.`);
    old = existsSync(path) ? lockOld(path) : null;
    const ended = old?.ended ?? null;
    const kept = withCopy(unfinished, (copy) => {
      migrate(copy, unfinished);
      return keepEnded(copy, ended, { by, config });
    });
    giveToOwnerOf(old === null ? dirname(path) : path, unfinished);
    syncPath(unfinished);
    const aside = `${path}.before-restore-${fileTime()}`;
    putInPlace(path, unfinished, aside);
    return { ...kept, replaced: old === null ? null : { path: aside, isReadable: ended !== null } };
  } catch (error) {
    removeUnfinished(unfinished);
    throw error;
  } finally {
    old?.lock?.close();
  }
}

/** The locked database, null if it is too damaged for that; and what was ended in it, null if that is unreadable. */
type OldDatabase = { lock: Sqlite | null; ended: Ended | null };

/**
 * Moves the write-ahead log into the old database, so that no file beside it belongs to it any more, locks it against
 * all other processes, and reads it. Throws `busy` if somebody else has it open, and `refused` if the disk fails,
 * because a database that can't be read now may be intact; so may one whose log can't be read.
 */
function lockOld(path: string): OldDatabase {
  const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const old = openAsItIs(path, 'write');
  try {
    const id = (old.query('PRAGMA application_id').get() as { application_id: number }).application_id;
    if (id !== APPLICATION_ID && id !== 0) {
      throw fileRefusal(`${path} is another program's database; nothing was changed.`);
    }
    old.run('PRAGMA journal_mode = DELETE');
    old.run('BEGIN EXCLUSIVE');
  } catch (error) {
    const isCertain = isCertainDamage(old, error) && !hasLog;
    old.close();
    if (isCertain) return { lock: null, ended: null };
    throw unreadable(path, error);
  }
  try {
    return { lock: old, ended: readEnded(old) };
  } catch (error) {
    if (isCertainDamage(old, error)) return { lock: old, ended: null };
    old.close();
    throw unreadable(path, error);
  }
}

/** SQLite also reports most reads that fail on a broken disk as damage. */
function isCertainDamage(old: Sqlite, error: unknown): boolean {
  if ((error as { code?: string }).code === 'SQLITE_NOTADB') return true;
  return isDamage(error) && !hasFailedOnDisk(old);
}

function unreadable(path: string, error: unknown): unknown {
  if (error instanceof AppError) return error;
  const fault = databaseFault(path, error);
  if (fault?.code === 'busy') {
    return new AppError('busy', `Another command is using the database ${path}; try again when it is finished.`);
  }
  const why = fault?.message ?? `The database ${path} can't be read.`;
  const sentence = `${why} Nothing was replaced. To restore anyway, first move the old database and its -wal file away.`;
  return fileRefusal(sentence, error);
}

/**
 * Gives the old database another name and the finished copy the database's. In between there is always one under that
 * name, except on file systems without hard links.
 */
function putInPlace(path: string, unfinished: string, aside: string): void {
  // These are of a database that is damaged or gone; SQLite would apply the log to the new one.
  for (const suffix of ['-wal', '-shm', '-journal'].filter((one) => existsSync(path + one))) {
    renameSync(path + suffix, aside + suffix);
  }
  if (existsSync(path)) {
    try {
      linkSync(path, aside);
    } catch {
      renameSync(path, aside);
    }
  }
  try {
    renameSync(unfinished, path);
    syncPath(dirname(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const sentence = `The restore could not be finished (${code}): the old database is ${aside}. Check the disk, then restore again.`;
    throw fileRefusal(sentence, error);
  }
}

// What a restore takes from the database that it replaces: whatever was ended there since the backup was made, and what keys
// have spent of their rate limits.

/**
 * What is ended in a database: profiles, bans and keys; of people, who is still there, by identifying bytes; of rate limits, what
 * is spent.
 */
type Ended = {
  erased: { uid: number; atMs: number }[];
  banned: number[];
  keys: { identifier: string; state: KeyState; expiresAt: number | null }[];
  people: { admins: Set<string>; passkeys: Set<string>; tokens: Set<string> };
  quotas: QuotaRow[];
};

/** What a restore did with what the backup has and the replaced database has ended, or (people) does not know. */
type Kept = {
  erased: number[];
  banned: number[];
  keys: string[];
  admins: string[];
  passkeys: { admin: string; name: string }[];
  tokens: { name: string; identifier: string }[];
};

/** Reads what is ended in a database. Throws SQLite's errors. */
function readEnded(sqlite: Sqlite): Ended {
  const db = withTables(sqlite);
  const nowMs = systemClock.nowMs();
  const hex = (rows: { bytes: Buffer }[]) => new Set(rows.map(({ bytes }) => bytes.toString('hex')));
  const columns = { identifier: apiKeys.identifier, state: apiKeys.state, expiresAt: apiKeys.expiresAt };
  return {
    erased: db.select({ uid: erasedProfiles.id, atMs: erasedProfiles.at }).from(erasedProfiles).all(),
    banned: bannedIn(db),
    keys: db
      .select(columns)
      .from(apiKeys)
      .all()
      .map((key) => ({ ...key, state: stateAt(key, nowMs) })),
    people: {
      admins: hex(db.select({ bytes: admins.userHandle }).from(admins).all()),
      passkeys: hex(db.select({ bytes: passkeys.credentialId }).from(passkeys).all()),
      tokens: hex(db.select({ bytes: backendTokens.tokenHash }).from(backendTokens).all()),
    },
    quotas: readQuotaRows(sqlite),
  };
}

function bannedIn(db: Db): number[] {
  return db
    .select({ id: profiles.id })
    .from(profiles)
    .where(eq(profiles.banned, true))
    .all()
    .map(({ id }) => id);
}

/**
 * Ends in the copy of a backup what is ended in the database that it replaces. If that is unknown (null), everything
 * stays as it is in the backup, and all its admins and tokens are returned: some may have been removed since.
 */
function keepEnded(copy: Sqlite, ended: Ended | null, { by, config }: { by: Actor; config: MailConfig }): Kept {
  const db = withTables(copy);
  const kept: Kept = { erased: [], banned: [], keys: [], admins: [], passkeys: [], tokens: [] };
  const atMs = systemClock.nowMs();
  if (ended !== null) {
    keepErased(db, ended, by, kept);
    keepBanned(db, ended, by, config, kept);
  }
  write(db, (tx) => {
    if (ended !== null) {
      keepKeys(tx, ended, { by, atMs }, kept);
      replaceQuotaRows(copy, ended.quotas);
    }
    settlePeople(tx, ended?.people ?? null, { by, atMs }, kept);
    addEvent(tx, { by, atMs }, { subject: 'database', event: 'restored' });
  });
  return kept;
}

/** Repeats erasures, with their times, so that importing a file with older data does not restore the profiles. */
function keepErased(db: Db, { erased }: Ended, by: Actor, kept: Kept): void {
  const nowMs = systemClock.nowMs();
  const known = new Map(
    db
      .select()
      .from(erasedProfiles)
      .all()
      .map(({ id, at }) => [id, at]),
  );
  // The backup may have an erasure itself, and a later profile of that id. A time in the future is a wrong clock's.
  const undone = erased
    .map(({ uid, atMs }) => ({ uid, atMs: Math.min(atMs, nowMs) }))
    .filter(({ uid, atMs }) => (known.get(uid) ?? 0) < atMs);
  const exists = db.$client.prepare('SELECT 1 FROM profiles WHERE id = ?');
  kept.erased = undone.map(({ uid }) => uid).filter((uid) => exists.get(uid) !== null);
  if (undone.length > 0) eraseProfiles({ db, clock: systemClock }, undone, by);
}

function keepBanned(db: Db, { banned }: Ended, by: Actor, config: MailConfig, kept: Kept): void {
  const already = new Set(bannedIn(db));
  const exists = db.$client.prepare('SELECT 1 FROM profiles WHERE id = ?');
  kept.banned = banned.filter((id) => !already.has(id) && exists.get(id) !== null);
  for (const id of kept.banned) {
    setBanned({ db, clock: systemClock }, { id, banned: true, by, config });
  }
}

/** What stops a key that is in the first state in the backup and was stopped in the second since. */
function moveTo(from: KeyState, to: KeyState): Move | null {
  // Such a request was approved since, and the key then ended: it must not be approved once more unseen.
  if (from === 'pending') return to === 'withdrawn' ? 'withdraw' : 'reject';
  if (hasEnded(to)) return from === 'expired' ? null : endOf(from);
  return MOVE_NAMES.find((move) => MOVES[move].to === to && isFrom(move, from)) ?? null;
}

function keepKeys(tx: Tx, { keys }: Ended, act: { by: Actor; atMs: number }, kept: Kept): void {
  const stopped = new Map(
    keys.filter(({ state }) => state !== 'pending' && state !== 'Active').map((key) => [key.identifier, key]),
  );
  const open = tx.select().from(apiKeys).where(inArray(apiKeys.state, SLOT_HOLDERS)).all();
  for (const key of open) {
    const state = stateAt(key, act.atMs);
    const since = stopped.get(key.identifier);
    const move = since === undefined ? null : moveTo(state, since.state);
    if (move === null) continue;
    moveKey(tx, key, move, act, { detail: { reason: 'This was so before a backup was restored.' } });
    kept.keys.push(key.identifier);
  }
}

type People = Ended['people'] | null;

function settlePeople(tx: Tx, known: People, { by, atMs }: { by: Actor; atMs: number }, kept: Kept): void {
  const event = known === null ? 'restored' : 'left out';
  const isNew = (of: keyof Ended['people'], bytes: Buffer) => known?.[of].has(bytes.toString('hex')) !== true;
  for (const { identifier, name, tokenHash } of tx.select().from(backendTokens).orderBy(backendTokens.addedAt).all()) {
    if (!isNew('tokens', tokenHash)) continue;
    kept.tokens.push({ name, identifier });
    if (known !== null) tx.delete(backendTokens).where(eq(backendTokens.identifier, identifier)).run();
    addEvent(tx, { by, atMs }, { subject: 'token', event, about: identifier, data: { backend: name } });
  }
  for (const { id: adminId, name: admin, userHandle } of tx.select().from(admins).orderBy(admins.id).all()) {
    const isUnknown = isNew('admins', userHandle);
    for (const { id, name, credentialId } of tx.select().from(passkeys).where(eq(passkeys.adminId, adminId)).all()) {
      if (!isNew('passkeys', credentialId)) continue;
      if (known !== null) tx.delete(passkeys).where(eq(passkeys.id, id)).run();
      // The passkeys of an unknown admin go, or come back, together with the admin.
      if (isUnknown) continue;
      kept.passkeys.push({ admin, name });
      addEvent(tx, { by, atMs }, { subject: 'admin', event, about: admin, data: { passkey: name } });
    }
    if (!isUnknown) continue;
    kept.admins.push(admin);
    if (known !== null) tx.delete(admins).where(eq(admins.id, adminId)).run();
    addEvent(tx, { by, atMs }, { subject: 'admin', event, about: admin });
  }
}
