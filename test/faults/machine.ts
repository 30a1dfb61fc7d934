import { Database } from 'bun:sqlite';
import { afterAll, expect } from 'bun:test';
import { mkdirSync, readdirSync, readlinkSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from '../support/world.ts';

// Disks that can be filled, open files, system calls, and whether a database is sound.

/** Why no file system can be mounted here (that needs root, as in CI), or null if one can. */
export const NO_MOUNT = mountFault();

function run(...words: string[]): number {
  return Bun.spawnSync(words, { stdout: 'ignore', stderr: 'ignore' }).exitCode;
}

function mountFault(): string | null {
  if (process.platform !== 'linux') return 'a file system can be mounted on Linux only';
  const folder = join(tempFolder(), 'probe');
  mkdirSync(folder);
  if (run('mount', '-t', 'tmpfs', '-o', 'size=64k', 'profile-lookup-test', folder) !== 0)
    return 'mounting is not permitted';
  run('umount', folder);
  return null;
}

/** A file system for one test. */
export type SmallDisk = ReturnType<typeof mountSmallDisk>;

/** Mounts a tmpfs of this many bytes, and unmounts it when the test file is done. */
export function mountSmallDisk(bytes: number) {
  const folder = join(tempFolder(), 'disk');
  mkdirSync(folder);
  if (run('mount', '-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'profile-lookup-test', folder) !== 0) {
    throw new Error('The file system could not be mounted.');
  }
  // A lazy unmount, because processes may still have files open.
  afterAll(() => run('umount', '-l', folder));
  const filler = join(folder, 'filler');
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };
  return {
    folder,
    /** Fills the disk, but leaves this many bytes free. */
    fill: (leave = 0) => writeFileSync(filler, Buffer.alloc(Math.max(0, freeBytes() - leave))),
    empty: () => rmSync(filler),
  };
}

/** Whether a process has a file open; Linux only. */
export function isOpenIn(pid: number, path: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((name) => readlinkSync(`/proc/${pid}/fd/${name}`) === path);
  } catch {
    return false; // It has closed a file, or ended.
  }
}

/** Whether strace (Debian: strace) is installed and permitted to trace, for watching and failing system calls. */
export const HAS_STRACE =
  Bun.which('strace') !== null && Bun.spawnSync(['strace', '-qq', '-o', '/dev/null', 'true']).success;

/** Expects that a database file is undamaged, and that no row refers to a missing one. */
export function expectSound(path: string): void {
  const sqlite = new Database(path);
  expect(sqlite.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  expect(sqlite.query('PRAGMA foreign_key_check').all()).toEqual([]);
  sqlite.close();
}
