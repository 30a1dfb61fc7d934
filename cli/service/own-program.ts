import { getPriority, setPriority } from 'node:os';
import { resolve } from 'node:path';
import { MIGRATIONS } from '../../shared/db/migrate.ts';
import { AppError } from '../../shared/errors.ts';
import { VERSION } from '../../shared/version.ts';

// A server runs some of its work as commands of its own executable. If that has been upgraded since the server started, the
// commands may need a newer schema or have other options.

/** The version of this program and the schema that it needs. */
export function thisProgram(): string {
  return `${VERSION}, schema ${MIGRATIONS.length}`;
}

/** Throws `not_ready` if the server that started this command is another version. `server` is its {@link thisProgram}. */
export function refuseOtherProgram(server: string | undefined): void {
  const here = thisProgram();
  if (server === undefined || server === here) return;
  const change = `from ${server} to ${here}`;
  throw new AppError(
    'not_ready',
    `The program was changed while the server was running, ${change}; restart the server.`,
  );
}

/** On a busy machine, the server runs first. */
const NICENESS = 10;

/** Lowers the priority of this process, for long commands on the machine of a server. */
export function lowerPriority(): void {
  try {
    setPriority(Math.max(NICENESS, getPriority()));
  } catch {
    // The system may not allow this.
  }
}

/** The command `db vacuum` on this database, which a server runs as a child: this binary, or Bun with the file that it runs now. */
export function vacuumCommand(databasePath: string) {
  const program = isBinary() ? [process.execPath] : [process.execPath, '--no-env-file', Bun.main];
  const options = ['--from-server', thisProgram(), '--json', '--db', resolve(databasePath)];
  return { vacuum: { command: [...program, 'db', 'vacuum', ...options] } };
}

/** Whether this program runs as the binary that `cli/build.ts` makes, and not from source. */
export function isBinary(): boolean {
  return Bun.main.startsWith('/$bunfs/');
}
