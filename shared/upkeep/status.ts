import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { actorText } from '../actor.ts';
import { DAY_MS, isoTime } from '../clock.ts';
import { certificateWarning } from '../config/check.ts';
import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { MIGRATIONS } from '../db/migrate.ts';
import { withTables } from '../db/tables.ts';
import { type DiskRoom, diskWarning, readDiskRoom } from '../db-files/disk.ts';
import { looseModes } from '../db-files/loose-modes.ts';
import { isServed } from '../db-files/serving.ts';
import { databaseSize } from '../db-files/size.ts';
import { listUnfinished } from '../db-files/unfinished.ts';
import type { ServerDeps } from '../deps.ts';
import { expiringKeys } from '../keys/record.ts';
import { type MailStatus, mailWarnings, readMailStatus } from '../mail/outbox.ts';
import { type ImportKind, readLastImport } from '../profiles/last-import.ts';
import { countProfiles } from '../profiles/list.ts';
import { type KeyStats, readKeyStats } from '../usage/key-stats.ts';
import { versionText } from '../version.ts';
import { type ErasureStatus, erasureWarnings, readErasureStatus } from './erasure-status.ts';
import { type LastBackup, readLastBackup } from './last-backup.ts';
import { type QuotaStatus, quotaWarnings, readQuotaStatus } from './quota-status.ts';
import { readSessionStatus, type SessionStatus, sessionWarnings } from './session-status.ts';

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
  quotas: QuotaStatus | null;
  profiles: { total: number; banned: number };
  keys: KeyStats['states'];
  queue: { pending: number; oldestAt: string | null };
  openAttempts: number;
  lastImport: ImportStatus | null;
  /** The last import by a backend that changed something. */
  lastFeed: ImportStatus | null;
  lastBackup: LastBackup | null;
  /** Copies for a backup, a restore or an upgrade that were left by a killed process. */
  unfinishedCopies: string[];
  erasure: ErasureStatus;
  mails: MailStatus;
  /** Null if nobody has ever signed in to the Developer Platform, or the file can't be read. */
  signIns: SessionStatus | null;
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
  const quotas = readQuotaStatus(path);
  const isRunning = isServed(path);
  const lastBackup = readLastBackup(path);
  const erasure = readErasureStatus(db, config);
  const mails = readMailStatus(withTables(db), nowMs);
  const signIns = readSessionStatus(path, nowMs);
  const unfinishedCopies = listUnfinished(path);
  return {
    version: versionText(),
    schema: MIGRATIONS.length,
    isServed: isRunning,
    database: { path, bytes, walBytes },
    disk: readDiskRoom(path),
    quotas,
    profiles: countAll(db, nowMs),
    keys: states,
    queue: { pending: states.pending, oldestAt: oldestPendingAt === null ? null : isoTime(oldestPendingAt) },
    openAttempts: attempts.open,
    lastImport: guardDatabase(path, () => lastImportOf(db, 'import')),
    lastFeed: guardDatabase(path, () => lastImportOf(db, 'feed')),
    lastBackup,
    unfinishedCopies,
    erasure,
    mails,
    signIns: signIns.status,
    warnings: [
      ...looseModes(path),
      diskWarning(path) ?? [],
      config.mail === null ? 'MAIL_URL is not set: no key can be approved.' : [],
      backupWarning(lastBackup, nowMs),
      unfinishedCopies.map(unfinishedWarning),
      quotaWarnings(quotas, isRunning, nowMs),
      erasureWarnings(erasure, path, nowMs),
      mailWarnings(mails),
      sessionWarnings(signIns),
      queueWarning(oldestPendingAt, nowMs),
      expiryWarning(db, nowMs),
      certificateWarnings(config.tls?.certFile, nowMs),
    ].flat(),
  };
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
  if (last === null) return ['No backup has been made yet; "profilectl db backup <file>" makes one.'];
  const days = Math.floor((nowMs - Date.parse(last.at)) / DAY_MS);
  return days < PATIENCE_DAYS ? [] : [`The last backup is ${days} days old.`];
}

function unfinishedWarning(path: string): string {
  return `A command was killed before its copy of the database was complete; the next backup, restore or start of the server removes it: ${path}`;
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
