import type { Command } from 'commander';
import { eraseProfile } from '../../shared/erasure/erase-profile.ts';
import { findProfile, readProfile } from '../../shared/profiles/find.ts';
import { shownProfile } from '../../shared/profiles/profile-version.ts';
import { withContext, withShownVersion } from '../database.ts';
import { notice, print, printJson } from '../terminal/output.ts';
import { retryIfChanged } from '../terminal/retry-if-changed.ts';
import { confirmOrYes } from '../terminal/values.ts';

/** Adds `profiles erase`, which erases a profile after a confirmation. */
export function addTo(parent: Command): void {
  parent
    .command('erase')
    .description('Erase a profile for good, and revoke its API keys.')
    .argument('<username>', "the profile's username or one of its aliases")
    .addHelpText(
      'after',
      `
The profile disappears at once. Copies of its text may remain in unused parts of the database file until a running server
vacuums it, at most once every 23 hours; "db vacuum" does so now, and "status" says whether copies may remain, and since when.
Not erased: backups, databases kept by "db restore" or before an upgrade, files written by "profiles export", refused lines,
e-mails that were sent or stored in a folder, and logs.

Examples:
  profilectl profiles erase ada
  profilectl profiles erase ada --yes`,
    )
    .action((name: string, _options: unknown, command: Command) =>
      withContext(command, 'use', async ({ deps, actor, yes, json }) => {
        const { id } = findProfile(deps.db, name);
        const { warning, ...erased } = await retryIfChanged(!yes, async () => {
          const by = withShownVersion(actor, shownProfile(deps.db, id));
          const { username } = readProfile(deps.db, id);
          await confirmOrYes(yes, `Erase the profile ${username} (id ${id}) for good, and revoke its API keys?`);
          return eraseProfile(deps, id, by);
        });
        if (warning !== null) notice(`Warning: ${warning}`);
        if (json) printJson({ ...erased, erased: true });
        else print(`Erased ${erased.username} (id ${erased.id}).`);
      }),
    );
}
