import type { Command } from 'commander';
import { exportProfiles } from '../../shared/profiles/export.ts';
import { escapeJsonForTerminal } from '../../shared/text.ts';
import { withContext } from '../database.ts';
import { createProgress } from '../terminal/progress.ts';
import { flushOutput, outputColumns, writeOutput } from '../terminal/stdout.ts';

/** Adds `profiles export`, which writes all profiles to stdout as JSON Lines, including private fields. */
export function addTo(parent: Command): void {
  parent
    .command('export')
    .description('Write all profiles to stdout as JSON Lines, ordered by id, including private fields.')
    .addHelpText(
      'after',
      `
The lines contain e-mail addresses and auth IDs: keep the file private.

Example:
  (umask 077; profilectl profiles export > profiles.jsonl)`,
    )
    .action((_options: unknown, command: Command) =>
      withContext(command, 'use', async ({ deps }) => {
        // If stdout is a terminal, a progress line would appear between the exported lines.
        const progress = outputColumns() === undefined ? createProgress(deps.clock) : null;
        const write = async (chunk: string) => {
          writeOutput(escapeJsonForTerminal(chunk));
          await flushOutput();
        };
        await exportProfiles(deps.db, write, (lines, total) => progress?.show(lines, lines, total));
        progress?.clear();
      }),
    );
}
