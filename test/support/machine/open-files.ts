import { readdirSync, readlinkSync } from 'node:fs';

/** Whether a process has a file open; Linux only. */
export function isOpenIn(pid: number, path: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((name) => readlinkSync(`/proc/${pid}/fd/${name}`) === path);
  } catch {
    return false; // It has closed a file, or ended.
  }
}
