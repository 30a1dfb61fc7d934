import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { and, asc, eq, gt, lte } from 'drizzle-orm';
import { DAY_MS, isoTime } from '../clock.ts';
import { certificateWarning } from '../config/check.ts';
import { looseModes } from '../config/files.ts';
import type { Db } from '../db/connect.ts';
import { readFact } from '../db/facts.ts';
import { realPath } from '../db/file.ts';
import { MIGRATIONS } from '../db/migrate.ts';
import { apiKeys } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { type MailStatus, mailWarnings, readMailStatus } from '../mail/delivery.ts';
import { type LastImport, readLastImport } from '../profiles/import/report.ts';
import { MAILS_PER_HOUR } from '../sign-in/codes.ts';
import { countSignIns } from '../sign-in/sessions.ts';
import { type KeyStats, readKeyStats } from '../usage/stats.ts';
import { versionText } from '../version.ts';
import { type LastBackup, readLastBackup } from './copy.ts';
import { type DiskRoom, databaseSize, diskWarning, isVacuumWanted, readDiskRoom, vacuumRoomFault } from './disk.ts';
import { isServed } from './open.ts';

/** The state of the service, except for what only a running server knows. */
export type Status = {
  version: string;
  schema: number;
  /** Whether a server holds the lock of this database. */
  isServed: boolean;
  database: { path: string; bytes: number; walBytes: number };
  disk: DiskRoom | null;
  profiles: { total: number; banned: number };
  keys: KeyStats['states'];
  queue: { pending: number; oldestAt: string | null };
  openAttempts: number;
  lastImport: LastImport | null;
  /** The last import by a backend that changed something. */
  lastFeed: LastImport | null;
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
export function readStatus({ db, clock, config }: Deps): Status {
  const path = config.databasePath;
  const nowMs = clock.nowMs();
  const { states, oldestPendingAt, attempts } = readKeyStats(db, nowMs);
  const { main: bytes, wal: walBytes } = databaseSize(path);
  const lastBackup = readLastBackup(db.$client);
  const kept = keptCopies(realPath(path));
  const isWanted = isVacuumWanted(db);
  const mails = readMailStatus(db, nowMs);
  return {
    version: versionText(),
    schema: MIGRATIONS.length,
    isServed: isServed(path),
    database: { path, bytes, walBytes },
    disk: readDiskRoom(path),
    profiles: countProfiles(db),
    keys: states,
    queue: { pending: states.pending, oldestAt: oldestPendingAt === null ? null : isoTime(oldestPendingAt) },
    openAttempts: attempts.open,
    lastImport: readLastImport(db.$client, 'import'),
    lastFeed: readLastImport(db.$client, 'feed'),
    lastBackup,
    keptCopies: kept,
    isVacuumWanted: isWanted,
    mails,
    signIns: countSignIns(db, nowMs),
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
function mailsHeldBack(db: Db, nowMs: number): string[] {
  const at = Number(readFact(db.$client, 'sign-in mails held back at') ?? 0);
  if (nowMs - at >= 3_600_000) return [];
  return [
    `${MAILS_PER_HOUR} sign-in mails were sent in an hour, which is the limit, at ${isoTime(at)}: some owners could not sign in. Somebody may be requesting mails for others.`,
  ];
}

/** SQLite reads both numbers from indexes: a million profiles take less than a tenth of a second. */
function countProfiles(db: Db): { total: number; banned: number } {
  const numbers = `SELECT (SELECT count(*) FROM profiles) AS total,
    (SELECT count(*) FROM profiles WHERE banned = 1) AS banned`;
  return db.$client.query(numbers).get() as { total: number; banned: number };
}

function backupWarning(last: LastBackup | null, nowMs: number): string[] {
  if (last === null) return ['No timer has made a backup yet; "Backups" in docs/install.md sets one up.'];
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

/** The identifiers of the Active keys that expire within `durationMs` from now, the next one first. */
function expiringKeys(db: Db, nowMs: number, durationMs: number): string[] {
  const { identifier, state, expiresAt } = apiKeys;
  const keys = db
    .select({ identifier })
    .from(apiKeys)
    .where(and(eq(state, 'Active'), gt(expiresAt, nowMs), lte(expiresAt, nowMs + durationMs)))
    .orderBy(asc(expiresAt))
    .all();
  return keys.map((key) => key.identifier);
}

function expiryWarning(db: Db, nowMs: number): string[] {
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
