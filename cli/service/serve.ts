import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { ServerOptions } from '../../server/main.ts';
import { configWarnings } from '../../shared/config/check.ts';
import { createDeps, type Deps } from '../../shared/deps.ts';
import { configOf, globalsOf, withOpenDatabase } from '../context.ts';
import { outputColumns, print } from '../terminal/output.ts';
import { vacuumCommand } from './own-program.ts';

/** Adds `serve`, which runs the HTTP server until SIGTERM or SIGINT. */
export function addServe(program: Command): void {
  program
    .command('serve')
    .description('Run the HTTP server, and create or migrate the database.')
    .addHelpText(
      'after',
      `
Logs one JSON object per line; on a terminal it first prints its URL.
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
async function serveOnTerminal(deps: Deps, options: ServerOptions): Promise<void> {
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
