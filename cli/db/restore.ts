import type { Command } from 'commander';
import type { RestoredPeople } from '../../shared/access/restored-people.ts';
import type { Dropped } from '../../shared/notices/store.ts';
import { subjectInWords } from '../../shared/notices/undelivered.ts';
import { prepareRestore } from '../../shared/upkeep/restore.ts';
import { againWhileChanged } from '../again.ts';
import { configOf } from '../configuration.ts';
import { globalsOf } from '../context.ts';
import { operatorOf } from '../database.ts';
import { counted, notice, print, printJson } from '../output.ts';
import { confirmOrYes } from '../values.ts';

/** Adds `db restore`: it replaces the database by a copy of a backup, and keeps the old database under another name. */
export function addTo(parent: Command): void {
  parent
    .command('restore')
    .description('Put a backup in the place of the database; the old one is kept aside.')
    .argument('<file>', 'the backup, which stays as it is')
    .option('--with-people', 'also put in admins, passkeys and tokens that the database does not have, or not any more')
    .addHelpText(
      'after',
      `
Stop the server first. The backup is verified, copied and put in place in one step; a backup of an older version is
upgraded when "profilectl serve" starts, one of a newer version is refused. The old database stays beside the new one
as <database>.before-restore-<UTC time>: remove it when you no longer want it. Everybody is signed out of the Developer
Platform.

Everything is again as it was then: keys that were revoked since work again, and profiles that were erased since are
back. Look at "profilectl keys list --state Active" before you let clients in. Admins, passkeys and platforms' tokens are not:
those that the database has not (they were removed since, or there is no database) are listed and left out, unless
--with-people is given.

Examples:
  profilectl db restore /backups/profiles-2026-01-01.db
  profilectl db restore /backups/profiles-2026-01-01.db --yes
  profilectl db restore /backups/profiles-2026-01-01.db --with-people    # after the database was lost`,
    )
    .action(async (file: string, options: { withPeople?: boolean }, command: Command) => {
      const globals = globalsOf(command);
      const config = configOf(globals);
      const { databasePath } = config;
      const isPutIn = options.withPeople === true;
      const { source, restored } = await againWhileChanged(!globals.yes, async () => {
        const restore = prepareRestore(databasePath, file);
        try {
          const { profiles, keys } = restore.source;
          const what = `the backup ${file} (${counted(profiles, 'profile')}, ${counted(keys, 'key')})`;
          await confirmOrYes(globals.yes, `Put ${what} in the place of ${databasePath}?`);
          return { source: restore.source, restored: restore.run({ isPutIn, by: operatorOf(config) }) };
        } finally {
          restore.release();
        }
      });
      const { profiles, keys, schema, isOlder } = source;
      const { kept, dropped, people } = restored;
      if (kept !== null) notice(`The old database is kept as ${kept.path}${kept.isWhole ? '' : ' (it is damaged)'}.`);
      if (isOlder) notice(`The backup has the older schema ${schema}; "profilectl serve" upgrades it when it starts.`);
      notice('Keys that were revoked and profiles that were erased since this backup, if any, are as they were then.');
      if (dropped.length > 0) notice(droppedText(dropped));
      if (people.admins.length + people.passkeys.length + people.tokens.length > 0)
        notice(peopleText(people, isPutIn, kept?.isWhole !== false));
      const keptAside = kept?.path ?? null;
      if (globals.json) {
        printJson({ file, profiles, keys, keptAside, droppedMails: dropped, people: { ...people, isPutIn } });
      } else print(`Restored ${counted(profiles, 'profile')} and ${counted(keys, 'key')} from ${file}.`);
    });
}

function droppedText(dropped: readonly Dropped[]): string {
  // Several admins get the same mail.
  const which = new Set(dropped.map((one) => `${one.kind} about ${subjectInWords(one)}`));
  return `${counted(dropped.length, 'mail')} waiting in the backup may have been sent since, and will not be: ${[...which].join(', ')}.`;
}

function peopleText({ admins, passkeys, tokens }: RestoredPeople, isPutIn: boolean, isOldKnown: boolean): string {
  const who = [
    ...admins.map((name) => `admin ${name}`),
    ...passkeys.map(({ admin, name }) => `passkey "${name}" of admin ${admin}`),
    ...tokens.map(({ name, identifier }) => `token ${identifier} of platform ${name}`),
  ].join(', ');
  const old = 'the database that the backup replaces';
  return isPutIn
    ? `Put in from the backup, though ${old} ${isOldKnown ? 'does not have them' : 'is damaged'}: ${who}. "profilectl admins remove" ends an admin, "profilectl tokens remove" a token.`
    : `Left out, because ${old} ${isOldKnown ? 'does not have them' : 'is damaged'}: ${who}. They may have been removed since; to put them in, restore once more with --with-people.`;
}
