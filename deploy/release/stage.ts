import { chmodSync, linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runForBytes } from './processes.ts';

/** The mode of executable files. */
export const EXECUTABLE = 0o755;

const READABLE = 0o644;

/** How a stage is packed: the modification time of its files, in seconds since 1970, and whether gzip makes it smaller. */
export type Packing = { seconds: number; isCompressed: boolean };

/** A folder that collects the files of one archive. */
export type Stage = {
  folder: string;
  /** Writes a file below the folder, with this mode regardless of the umask. */
  add: (path: string, content: string | Uint8Array, mode?: number) => void;
  /** Links an executable that already exists on the same disk, instead of copying it. */
  link: (path: string, executable: string) => void;
};

/** Creates an empty stage, with its folder. */
export function createStage(folder: string): Stage {
  const makeFolder = (path: string) => {
    if (path !== folder) makeFolder(dirname(path));
    mkdirSync(path, { recursive: true });
    chmodSync(path, EXECUTABLE);
  };
  makeFolder(folder);
  const add = (path: string, content: string | Uint8Array, mode = READABLE) => {
    const file = join(folder, path);
    makeFolder(dirname(file));
    writeFileSync(file, content);
    chmodSync(file, mode);
  };
  const link = (path: string, executable: string) => {
    const file = join(folder, path);
    makeFolder(dirname(file));
    chmodSync(executable, EXECUTABLE);
    linkSync(executable, file);
  };
  return { folder, add, link };
}

/**
 * Packs a stage into a compressed tar archive, whose bytes depend only on its files and `packing`: names are sorted,
 * everything belongs to root, and the compressor is Bun's own.
 */
export async function packStage({ folder }: Stage, name: string, packing: Packing): Promise<Uint8Array<ArrayBuffer>> {
  const { seconds, isCompressed } = packing;
  const options = ['--format=ustar', '--sort=name', `--mtime=@${seconds}`, '--owner=0', '--group=0', '--numeric-owner'];
  const tar = await runForBytes('tar', '--create', ...options, '--file=-', '--directory', folder, name);
  return Bun.gzipSync(tar, { library: 'libdeflate', level: isCompressed ? 6 : 0 });
}
