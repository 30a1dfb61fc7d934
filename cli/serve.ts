import type { Command } from 'commander';
import { withDatabase } from './context.ts';

/** `serve`: the HTTP server, until SIGTERM or SIGINT. */
export function addTo(command: Command): void {
  command
    .addHelpText('after', '\nExample:\n  PUBLIC_URL=https://api.example.org profilectl serve')
    .action((_options: unknown) =>
      withDatabase(command, 'serve', async (db, config) => {
        const { createDeps } = await import('../shared/deps.ts');
        const { serve } = await import('../server/main.ts');
        await serve(createDeps(db, config));
      }),
    );
}
