import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { ServerOptions } from '../../server/main.ts';
import { configWarnings } from '../../shared/config/check.ts';
import { createDeps, type ServerDeps } from '../../shared/deps.ts';
import { configOf } from '../configuration.ts';
import { globalsOf } from '../context.ts';
import { withOpenDatabase } from '../open-database.ts';
import { print } from '../terminal/output.ts';
import { outputColumns } from '../terminal/stdout.ts';
import { thisProgram } from './same-program.ts';

/** Adds `serve`, which runs the HTTP server until SIGTERM or SIGINT. */
export function addServe(program: Command): void {
  program
    .command('serve')
    .description('Run the HTTP server, and create or migrate the database.')
    .addHelpText(
      'after',
      `
Logs in lines of JSON; on a terminal it first prints its URL.
"profilectl config check" shows all variables.

Example:
  PUBLIC_URL=https://api.example.org profilectl serve`,
    )
    .action((_options: unknown, command: Command) => {
      const config = configOf(globalsOf(command));
      return withOpenDatabase(config, 'serve', async (db) => {
        const { serve } = await import('../../server/main.ts');
        const options = vacuumCommand(db.$client.filename);
        if (outputColumns() === undefined) return serve(createDeps(db, config), options);
        await serveOnTerminal(createDeps(db, config), options);
      });
    });
}

/** Runs the server for a person at a terminal: prints its URL and warnings. */
async function serveOnTerminal(deps: ServerDeps, options: ServerOptions): Promise<void> {
  const { config, clock } = deps;
  const { serve } = await import('../../server/main.ts');
  await serve(deps, options, ({ url }) => {
    const warnings = configWarnings(config, clock.nowMs()).map((text) => `Warning: ${text}\n`);
    print(`
Profile Lookup is running on ${url}

  Documentation  ${url}/docs
  Database       ${resolve(config.databasePath)}

${warnings.join('')}Ctrl-C stops it.
`);
  });
}

/** The command `db vacuum` on this database, which a server runs as a child: this binary, or Bun with the file that it runs now. */
export function vacuumCommand(databasePath: string): Pick<ServerOptions, 'vacuum'> {
  const program = isBinary() ? [process.execPath] : [process.execPath, '--no-env-file', Bun.main];
  const options = ['--from-server', thisProgram(), '--json', '--db', resolve(databasePath)];
  return { vacuum: { command: [...program, 'db', 'vacuum', ...options] } };
}

/** Whether this program runs as the binary that `cli/build.ts` makes, and not from source. */
export function isBinary(): boolean {
  return Bun.main.startsWith('/$bunfs/');
}
