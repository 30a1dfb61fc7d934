import { MIGRATIONS } from '../../shared/db/migrations.ts';
import { AppError } from '../../shared/errors.ts';
import { VERSION } from '../../shared/version.ts';

// A server runs some of its work as commands of its own program. If that was upgraded meanwhile, the file at its path is
// another program than the one that runs: it may need a newer schema, or understand other words.

/** Names this program: its version, and the schema that it needs. */
export function thisProgram(): string {
  return `${VERSION}, schema ${MIGRATIONS.length}`;
}

/** Throws `not_ready` if a server has started this command, and is another program than this one. */
export function refuseOtherProgram(server: string | undefined): void {
  const here = thisProgram();
  if (server === undefined || server === here) return;
  const change = `from ${server} to ${here}`;
  throw new AppError('not_ready', `The program was changed while the server runs, ${change}; restart the server.`);
}
