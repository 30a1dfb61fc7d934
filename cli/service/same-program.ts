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
