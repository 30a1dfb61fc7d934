import type { Command } from 'commander';
import { withContext } from './context.ts';

/** `serve`: the HTTP server, until SIGTERM or SIGINT. */
export function addTo(command: Command): void {
  command
    .addHelpText('after', '\nExample:\n  PUBLIC_URL=https://api.example.org profilectl serve')
    .action((_options: unknown) =>
      withContext(command, 'serve', async ({ deps }) => {
        const { serve } = await import('../server/main.ts');
        await serve(deps);
      }),
    );
}
