import type { Command } from 'commander';
import { shownAdmin } from '../../shared/admins/admin-version.ts';
import { findAdmin, removeAdmin } from '../../shared/admins/admins.ts';
import { listPasskeys } from '../../shared/passkeys/passkeys.ts';
import { withAccess } from '../access.ts';
import { withShownVersion } from '../database.ts';
import { counted, print, printJson } from '../terminal/output.ts';
import { retryIfChanged } from '../terminal/retry-if-changed.ts';
import { confirmOrYes } from '../terminal/values.ts';

/** Adds `admins remove`, which removes an admin at once. */
export function addTo(parent: Command): void {
  parent
    .command('remove')
    .description('Remove an admin at once, with their passkeys and sessions.')
    .argument('<admin>', 'the name of the admin')
    .addHelpText('after', '\nThe name stays in histories.\n\nExample:\n  profilectl admins remove Grace --yes')
    .action((admin: string, _options: unknown, command: Command) =>
      withAccess(command, async ({ access, actor, json, yes }) => {
        const { name } = findAdmin(access.db, admin);
        const { endedPasskeys } = await retryIfChanged(!yes, async () => {
          const by = withShownVersion(actor, shownAdmin(access.db, name));
          const held = counted(listPasskeys(access.db, name).length, 'passkey');
          await confirmOrYes(yes, `Remove admin ${name} with ${held} and all sessions?`);
          return removeAdmin(access, name, by);
        });
        if (json) printJson({ name, removed: true, endedPasskeys });
        else print(`Removed ${name}.`);
      }),
    );
}
