import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isBinary } from '../shared/binary.ts';
import { withDatabase } from './context.ts';
import { variablesHelp } from './variables-help.ts';

/** `serve`: the HTTP server, until SIGTERM or SIGINT. */
export function addTo(command: Command): void {
  command
    .addHelpText(
      'after',
      () => `\n${variablesHelp()}\n\nExample:\n  PUBLIC_URL=https://api.example.org profilectl serve`,
    )
    .action((_options: unknown) => {
      // Begun first, since other threads read it while the database is opened.
      const loading = Promise.all([import('../shared/deps.ts'), import('../server/main.ts')]);
      // Awaited below, or of no interest: the database can't be opened.
      loading.catch(() => {});
      return withDatabase(command, 'serve', async (db, config) => {
        const [{ createDeps }, { serve }] = await loading;
        await serve(createDeps(db, config), { vacuum: { words: vacuumWords(db.$client.filename) } });
      });
    });
}

/** The words that run `db vacuum` on this database: of the binary alone, or of Bun and the file that it was started with. */
function vacuumWords(databasePath: string): string[] {
  const program = isBinary() ? [process.execPath] : [process.execPath, '--no-env-file', Bun.main];
  return [...program, 'db', 'vacuum', '--json', '--db', resolve(databasePath)];
}
