import type { Command } from 'commander';
import { withContext } from './context.ts';

/** `serve`: the HTTP server, until SIGTERM or SIGINT. */
export function addServe(parent: Command): void {
  parent
    .command('serve')
    .description('Run the HTTP server; creates and migrates the database.')
    .addHelpText('after', '\nExample:\n  PUBLIC_URL=https://api.example.org profilectl serve')
    .action((_options: unknown, command: Command) =>
      withContext(command, 'serve', async ({ deps }) => {
        const { serve } = await import('../server/main.ts');
        await serve(deps);
      }),
    );
}
