import { statSync } from 'node:fs';
import { DAY_MS, isoTime } from '../clock.ts';
import { quotaPath, readRemadeAt } from '../limits/file/store.ts';

/** The quota file. `remadeAt` is when a running server recreated it after it was lost, to the minute, or null. */
export type QuotaStatus = { path: string; bytes: number; remadeAt: string | null };

/** For how long `status` warns that the quota file was lost. */
const WARNED_FOR_MS = 7 * DAY_MS;

/** Reads the status of a database's quota file without opening it; null if there is none. */
export function readQuotaStatus(databasePath: string): QuotaStatus | null {
  const path = quotaPath(databasePath);
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) return null;
  const remadeAtMs = readRemadeAt(databasePath);
  return { path, bytes: file.size, remadeAt: remadeAtMs === null ? null : isoTime(remadeAtMs) };
}

/** Warnings about the quota file, as whole sentences. `isServed` says whether a server is running. */
export function quotaWarnings(quotas: QuotaStatus | null, isServed: boolean | null, nowMs: number): string[] {
  if (quotas === null) return isServed ? ['The quota file is missing; the server makes it again if it can.'] : [];
  const { remadeAt } = quotas;
  if (remadeAt === null || nowMs - Date.parse(remadeAt) > WARNED_FOR_MS) return [];
  return [`The quota file was moved, deleted or replaced while a server ran; the server made it again at ${remadeAt}.`];
}
