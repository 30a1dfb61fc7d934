import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';

/** Flushes of the write-ahead log to the disk: the flush that runs, and the one that starts after it. */
export type Disk = {
  readonly path: string;
  file: number | null;
  running: Promise<void> | null;
  next: Promise<void> | null;
  isClosed: boolean;
};

/** Flushes what was written until now; calls during a flush share the next one. Rejects if the disk fails. */
export function syncDisk(disk: Disk): Promise<void> {
  if (disk.running === null) return startSync(disk);
  // The running flush may not cover what was saved after it started.
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

/** Begins no further flush, and closes the file once the last one has ended. */
export function closeDisk(disk: Disk): void {
  disk.isClosed = true;
  // While a flush uses the file descriptor it stays open: after a close its number could belong to another file.
  if (disk.file === null || disk.running !== null) return;
  closeSync(disk.file);
  disk.file = null;
}

/** Prepares flushes of the file at a path, which has to exist at the first one. */
export function diskOf(path: string): Disk {
  return { path, file: null, running: null, next: null, isClosed: false };
}
