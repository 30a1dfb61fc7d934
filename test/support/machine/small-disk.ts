import { afterAll } from 'bun:test';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from '../world.ts';

/** A file system for one test, which can be filled, emptied and mounted read-only. */
export type SmallDisk = {
  folder: string;
  /** Fills the disk, but leaves this many bytes free. */
  fill: (leave?: number) => void;
  empty: () => void;
  /** Mounts the same files read-only at another path, which it returns. */
  showReadOnly: () => string;
};

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

/** Mounts a tmpfs of this many bytes, and unmounts it when the test file is done. */
export function mountSmallDisk(bytes: number): SmallDisk {
  const parent = tempFolder();
  const folder = join(parent, 'disk');
  const readOnly = join(parent, 'read-only');
  mkdirSync(folder);
  mkdirSync(readOnly);
  if (run('mount', '-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'profile-lookup-test', folder) !== 0) {
    throw new Error('The file system could not be mounted.');
  }
  afterAll(() => {
    // A lazy unmount, because processes may still have files open.
    run('umount', '-l', readOnly);
    run('umount', '-l', folder);
  });
  const filler = join(folder, 'filler');
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };
  return {
    folder,
    fill: (leave = 0) => writeFileSync(filler, Buffer.alloc(Math.max(0, freeBytes() - leave))),
    empty: () => rmSync(filler),
    showReadOnly: () => {
      if (run('mount', '--bind', folder, readOnly) + run('mount', '-o', 'remount,bind,ro', readOnly) !== 0) {
        throw new Error('The file system could not be mounted a second time.');
      }
      return readOnly;
    },
  };
}
