import { statSync } from 'node:fs';
import { DAY_MS, isoTime } from '../clock.ts';
import { quotaPath, readRecreatedAt } from '../limits/file/store.ts';

/** The quota file. `recreatedAt` is when a running server recreated it after it was lost, to the minute, or null. */
export type QuotaStatus = { path: string; bytes: number; recreatedAt: string | null };

const WARNING_PERIOD_MS = 7 * DAY_MS;

/** Reads the status of a database's quota file without opening it; null if there is none. */
export function readQuotaStatus(databasePath: string): QuotaStatus | null {
  const path = quotaPath(databasePath);
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) return null;
  const recreatedAtMs = readRecreatedAt(databasePath);
  return { path, bytes: file.size, recreatedAt: recreatedAtMs === null ? null : isoTime(recreatedAtMs) };
}

/** Warnings about the quota file, as whole sentences. `isServed` is whether a server is running. */
export function quotaWarnings(quotas: QuotaStatus | null, isServed: boolean | null, nowMs: number): string[] {
  if (quotas === null) return isServed ? ['The quota file is missing; the server recreates it if it can.'] : [];
  const { recreatedAt } = quotas;
  if (recreatedAt === null || nowMs - Date.parse(recreatedAt) > WARNING_PERIOD_MS) return [];
  return [
    `The quota file was moved, deleted or replaced while a server was running; the server recreated it at ${recreatedAt}.`,
  ];
}
