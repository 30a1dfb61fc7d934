import type { Command } from 'commander';
import { bytesText } from '../../shared/text.ts';
import { backupDatabase } from '../../shared/upkeep/backup.ts';
import { withContext } from '../database.ts';
import { counted, print, printJson } from '../terminal/output.ts';
import { createSteps, sizeText } from './steps.ts';

/** Adds `db backup`, which writes a verified copy of the database to a new file while the server runs. */
export function addTo(parent: Command): void {
  parent
    .command('backup')
    .description('Back up the database to a new file, and verify that file; the server may be running.')
    .argument('<file>', 'the new file; an existing file is never overwritten')
    .addHelpText(
      'after',
      `
The backup is one SQLite file with mode 0600. It contains e-mail addresses, auth IDs and hashes of secrets, but no secrets:
protect it like the database. It does not contain the requests counted against rate limits, the configuration or e-mails.

Examples:
  profilectl db backup /backups/profiles-$(date +%F).db
  profilectl db backup /backups/profiles.db --json`,
    )
    .action((file: string, _options: unknown, command: Command) =>
      withContext(command, 'look', async ({ deps, json }) => {
        const steps = createSteps(deps.clock);
        const done = backupDatabase(deps.db, file, (step) =>
          steps.begin(step === 'copy' ? `Copying ${sizeText(deps.config.databasePath)}` : `Verifying ${file}`),
        );
        steps.end();
        if (done.warning !== null) steps.warn(done.warning);
        const { bytes, profiles, keys } = done;
        if (json) printJson({ file, bytes, profiles, keys });
        else
          print(
            `Backed up ${counted(profiles, 'profile')} and ${counted(keys, 'key')} to ${file} (${bytesText(bytes)}).`,
          );
      }),
    );
}
