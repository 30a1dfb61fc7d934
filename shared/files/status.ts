import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { actorText } from '../actor.ts';
import { DAY_MS, isoTime } from '../clock.ts';
import { certificateWarning } from '../config/check.ts';
import { looseModes } from '../config/files.ts';
import type { Opened } from '../db/connect.ts';
import { readFact } from '../db/facts.ts';
import { guardDatabase } from '../db/faults.ts';
import { MIGRATIONS } from '../db/migrate.ts';
import { realPath } from '../db/real-path.ts';
import { withTables } from '../db/tables.ts';
import type { ServerDeps } from '../deps.ts';
import { expiringKeys } from '../keys/record.ts';
import { type MailStatus, mailWarnings, readMailStatus } from '../mail/outbox.ts';
import { type ImportKind, readLastImport } from '../profiles/last-import.ts';
import { countProfiles } from '../profiles/list.ts';
import { MAILS_PER_HOUR } from '../sign-in/codes.ts';
import { countSignIns } from '../sign-in/sessions.ts';
import { type KeyStats, readKeyStats } from '../usage/stats.ts';
import { versionText } from '../version.ts';
import { type LastBackup, readLastBackup } from './copy.ts';
import { type DiskRoom, databaseSize, diskWarning, readDiskRoom } from './disk.ts';
import { isServed } from './lock.ts';
import { isVacuumWanted, vacuumRoomFault } from './vacuum.ts';

/** When an import ended, who ran it, and how many lines it read and refused. */
export type ImportStatus = { at: string; by: string; lines: number; refused: number };

/** The state of the service, except for what only a running server knows. */
export type Status = {
  version: string;
  schema: number;
  /** Whether a server holds the lock of this database; null on a read-only disk, where servers take no lock. */
  isServed: boolean | null;
  database: { path: string; bytes: number; walBytes: number };
  disk: DiskRoom | null;
  profiles: { total: number; banned: number };
  keys: KeyStats['states'];
  queue: { pending: number; oldestAt: string | null };
  openAttempts: number;
  lastImport: ImportStatus | null;
  /** The last import by a backend that changed something. */
  lastFeed: ImportStatus | null;
  lastBackup: LastBackup | null;
  /** Databases that a restore or an upgrade kept beside this one; erasures do not reach them. */
  keptCopies: string[];
  /** Whether the file may still contain copies of erased text. */
  isVacuumWanted: boolean;
  mails: MailStatus;
  /** How many browsers are signed in to the Developer Platform. */
  signIns: number;
  /** Whole sentences about problems that an operator should look at. */
  warnings: string[];
};

/** The maximum age of the last backup and of the oldest pending request. */
const PATIENCE_DAYS = 7;

const FORESIGHT_DAYS = 30;

/** Inspects the database, the files beside it and the configuration; changes nothing. */
export function readStatus({ db, clock, config }: ServerDeps): Status {
  const path = config.databasePath;
  const nowMs = clock.nowMs();
  const { states, oldestPendingAt, attempts } = readKeyStats(db, nowMs);
  const { main: bytes, wal: walBytes } = databaseSize(path);
  const lastBackup = guardDatabase(path, () => readLastBackup(db.$client));
  const kept = keptCopies(realPath(path));
  const isWanted = isVacuumWanted(db);
  const mails = readMailStatus(withTables(db), nowMs);
  return {
    version: versionText(),
    schema: MIGRATIONS.length,
    isServed: isServed(path),
    database: { path, bytes, walBytes },
    disk: readDiskRoom(path),
    profiles: countAll(db, nowMs),
    keys: states,
    queue: { pending: states.pending, oldestAt: oldestPendingAt === null ? null : isoTime(oldestPendingAt) },
    openAttempts: attempts.open,
    lastImport: guardDatabase(path, () => lastImportOf(db, 'import')),
    lastFeed: guardDatabase(path, () => lastImportOf(db, 'feed')),
    lastBackup,
    keptCopies: kept,
    isVacuumWanted: isWanted,
    mails,
    signIns: guardDatabase(path, () => countSignIns(db, nowMs)),
    warnings: [
      ...looseModes(path),
      diskWarning(path) ?? [],
      config.mail === null ? 'MAIL_URL is not set: no key can be approved.' : [],
      backupWarning(lastBackup, nowMs),
      kept.map(keptWarning),
      isWanted ? roomWarning(path) : [],
      mailWarnings(mails),
      mailsHeldBack(db, nowMs),
      queueWarning(oldestPendingAt, nowMs),
      expiryWarning(db, nowMs),
      certificateWarnings(config.tls?.certFile, nowMs),
    ].flat(),
  };
}

/** A warning for an hour after the limit on all sign-in mails was reached. */
function mailsHeldBack(db: Opened, nowMs: number): string[] {
  const at = Number(readFact(db.$client, 'sign-in mails held back at') ?? 0);
  if (nowMs - at >= 3_600_000) return [];
  return [
    `${MAILS_PER_HOUR} sign-in mails were sent in an hour, which is the limit, at ${isoTime(at)}: some owners could not sign in. Somebody may be requesting mails for others.`,
  ];
}

/** SQLite reads both numbers from indexes. */
function countAll(db: Opened, nowMs: number): { total: number; banned: number } {
  return { total: countProfiles(db, {}, nowMs), banned: countProfiles(db, { isBanned: true }, nowMs) };
}

/** The last import of a kind, as in `status`; null if there was none. */
export function lastImportOf(db: Opened, kind: ImportKind): ImportStatus | null {
  const last = readLastImport(db, kind);
  if (last === null) return null;
  const { atMs, by, lines, refused } = last;
  return { at: isoTime(atMs), by: actorText(by, 'operator'), lines, refused };
}

function backupWarning(last: LastBackup | null, nowMs: number): string[] {
  if (last === null)
    return ['No backup has been made by a timer; "profilectl db backup --scheduled <file>" is for that.'];
  const days = Math.floor((nowMs - Date.parse(last.at)) / DAY_MS);
  return days < PATIENCE_DAYS ? [] : [`The last backup by a timer is ${days} days old.`];
}

/** What `db restore`, an upgrade, or a killed restore left beside the database. */
function keptCopies(path: string): string[] {
  const name = basename(path);
  return readdirSync(dirname(path))
    .filter((one) => one === `${name}.unfinished` || /^\.before-(restore|schema)-/.test(one.slice(name.length)))
    .filter((one) => one.startsWith(name))
    .sort()
    .map((one) => join(dirname(path), one));
}

function roomWarning(path: string): string[] {
  const fault = vacuumRoomFault(path);
  return fault === null ? [] : [`Erased text can't be removed from the file. ${fault}`];
}

function keptWarning(path: string): string {
  return `${path} is a copy of this database, which erasures do not reach; remove it when you no longer need it.`;
}

function queueWarning(oldestAt: number | null, nowMs: number): string[] {
  const days = oldestAt === null ? 0 : Math.floor((nowMs - oldestAt) / DAY_MS);
  return days < PATIENCE_DAYS ? [] : [`A request has been waiting for a decision for ${days} days.`];
}

function expiryWarning(db: Opened, nowMs: number): string[] {
  const keys = expiringKeys(db, nowMs, FORESIGHT_DAYS * DAY_MS);
  if (keys.length === 0) return [];
  const named = keys.slice(0, 5);
  const rest = keys.length > named.length ? ` and ${keys.length - named.length} more` : '';
  return [`These keys expire within ${FORESIGHT_DAYS} days: ${named.join(', ')}${rest}.`];
}

function certificateWarnings(certFile: string | undefined, nowMs: number): string[] {
  if (certFile === undefined) return [];
  try {
    return [certificateWarning(new X509Certificate(readFileSync(certFile)), certFile, nowMs) ?? []].flat();
  } catch {
    return [`The certificate in ${certFile} can't be read.`];
  }
}
