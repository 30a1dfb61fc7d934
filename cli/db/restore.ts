import type { Command } from 'commander';
import type { Dropped } from '../../shared/notices/store.ts';
import { configOf, globalsOf } from '../context.ts';
import { counted, notice, print, printJson } from '../output.ts';
import { confirmOrYes } from '../values.ts';

/** Adds `db restore`: it replaces the database by a copy of a backup, and keeps the old database under another name. */
export function addTo(parent: Command): void {
  parent
    .command('restore')
    .description('Put a backup in the place of the database; the old one is kept aside.')
    .argument('<file>', 'the backup, which stays as it is')
    .addHelpText(
      'after',
      `
Stop the server first. The backup is verified, copied and put in place in one step; a backup of an older version is
upgraded when "profilectl serve" starts, one of a newer version is refused. The old database stays beside the new one
as <database>.before-restore-<UTC time>: remove it when you no longer want it. Everybody is signed out of the Developer
Platform.

Everything is again as it was then: keys that were revoked since work again, and profiles that were erased since are
back. Look at "profilectl keys list --state Active" before you let clients in.

Examples:
  profilectl db restore /backups/profiles-2026-01-01.db
  profilectl db restore /backups/profiles-2026-01-01.db --yes`,
    )
    .action(async (file: string, _options: unknown, command: Command) => {
      const globals = globalsOf(command);
      const { databasePath } = configOf(globals);
      const { prepareRestore } = await import('../../shared/upkeep/restore.ts');
      const restore = prepareRestore(databasePath, file);
      try {
        const { profiles, keys, schema, isOlder } = restore.source;
        const what = `the backup ${file} (${counted(profiles, 'profile')}, ${counted(keys, 'key')})`;
        await confirmOrYes(globals.yes, `Put ${what} in the place of ${databasePath}?`);
        const { kept, dropped } = restore.run();
        if (kept !== null) notice(`The old database is kept as ${kept.path}${kept.isWhole ? '' : ' (it is damaged)'}.`);
        if (isOlder)
          notice(`The backup has the older schema ${schema}; "profilectl serve" upgrades it when it starts.`);
        notice(
          'Keys that were revoked and profiles that were erased since this backup, if any, are as they were then.',
        );
        if (dropped.length > 0) notice(droppedText(dropped));
        if (globals.json) printJson({ file, profiles, keys, keptAside: kept?.path ?? null, droppedMails: dropped });
        else print(`Restored ${counted(profiles, 'profile')} and ${counted(keys, 'key')} from ${file}.`);
      } finally {
        restore.release();
      }
    });
}

function droppedText(dropped: readonly Dropped[]): string {
  const which = dropped.map(({ kind, identifier }) => `${kind} of ${identifier}`).join(', ');
  return `${counted(dropped.length, 'mail')} waiting in the backup may have been sent since, and will not be: ${which}.`;
}
