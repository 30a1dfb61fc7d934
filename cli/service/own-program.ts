import { getPriority, setPriority } from 'node:os';
import { resolve } from 'node:path';

/** Lowers the priority of this process, for work beside a server: on a busy machine, that runs first. */
export function lowerPriority(niceness = 10): void {
  try {
    setPriority(Math.max(niceness, getPriority()));
  } catch {
    // The system may not allow this.
  }
}

/** The command `db vacuum` on this database, which a server runs as a child: this binary, or Bun with the file that it runs now. */
export function vacuumCommand(databasePath: string) {
  const program = isBinary() ? [process.execPath] : [process.execPath, '--no-env-file', Bun.main];
  return { vacuum: { command: [...program, 'db', 'vacuum', '--json', '--db', resolve(databasePath)] } };
}

/** Whether this program runs as the binary that `cli/build.ts` makes, and not from source. */
export function isBinary(): boolean {
  return Bun.main.startsWith('/$bunfs/');
}
