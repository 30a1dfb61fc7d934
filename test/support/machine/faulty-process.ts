import { join } from 'node:path';
import { profilectlWords } from '../cli.ts';
import { tempFolder } from '../world.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';

/** Whether libfiu's programs are installed (Debian: fiu-utils), which make system calls of another process fail. */
export const HAS_LIBFIU = Bun.which('fiu-run') !== null && Bun.which('fiu-ctrl') !== null;

/** A server whose system calls can be made to fail. */
export type FaultyServer = ServerProcess & {
  /** From now on, these calls (by libfiu's name, `posix/io/rw/pread`) fail with this probability. */
  fail: (call: string, probability: number) => void;
  /** From now on, these calls work again. */
  heal: (call: string) => void;
};

/** Starts `profilectl serve` under libfiu, at first without failures. Killed when the test file is done. */
export async function startFaultyServer(variables: Record<string, string>): Promise<FaultyServer> {
  const control = join(tempFolder(), 'fiu');
  const words = ['fiu-run', '-x', '-f', control, ...profilectlWords(['serve'])];
  const server = await startServerProcess(variables, { words });
  const sendCommand = (command: string) => {
    const done = Bun.spawnSync(['fiu-ctrl', '-f', control, '-c', command, String(server.pid)]);
    const said = done.stdout.toString() + done.stderr.toString();
    if (done.exitCode !== 0 || said !== '') throw new Error(`fiu-ctrl did not do "${command}": ${said}`);
  };
  return {
    ...server,
    fail: (call, probability) => sendCommand(`enable_random name=${call},probability=${probability}`),
    heal: (call) => sendCommand(`disable name=${call}`),
  };
}
