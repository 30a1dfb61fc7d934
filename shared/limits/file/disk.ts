import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';

/** The flushes of the write-ahead log to disk: the running one, and the one after it. */
export type Disk = {
  readonly path: string;
  file: number | null;
  running: Promise<void> | null;
  next: Promise<void> | null;
  isClosed: boolean;
};

/** Flushes everything that was written so far; calls during a flush share the next one. Rejects if the disk fails. */
export function syncDisk(disk: Disk): Promise<void> {
  if (disk.running === null) return startSync(disk);
  // The running flush may miss rows that were saved after its start.
  disk.next ??= disk.running.catch(() => undefined).then(() => startSync(disk));
  return disk.next;
}

function startSync(disk: Disk): Promise<void> {
  disk.next = null;
  disk.running = syncOnce(disk).finally(() => {
    disk.running = null;
    if (disk.isClosed) closeDisk(disk);
  });
  return disk.running;
}

async function syncOnce(disk: Disk): Promise<void> {
  // `close` has flushed everything already.
  if (disk.isClosed) return;
  disk.file ??= openSync(disk.path, 'r');
  await promisify(fdatasync)(disk.file);
}

/** Starts no further flush, and closes the file after the running one. */
export function closeDisk(disk: Disk): void {
  disk.isClosed = true;
  // The descriptor stays open during a flush: after a close, its number could belong to another file.
  if (disk.file === null || disk.running !== null) return;
  closeSync(disk.file);
  disk.file = null;
}

/** Prepares flushes of the file at a path, which must exist at the first flush. */
export function diskOf(path: string): Disk {
  return { path, file: null, running: null, next: null, isClosed: false };
}
