import type { Command } from 'commander';
import type { RestoredPeople } from '../../shared/admins/restored-people.ts';
import { isoTime } from '../../shared/clock.ts';
import type { Verified } from '../../shared/db-files/snapshot.ts';
import { subjectInWords } from '../../shared/outbox/undelivered.ts';
import type { Dropped } from '../../shared/upkeep/delivery/store.ts';
import { prepareRestore, type Restored } from '../../shared/upkeep/restore.ts';
import type { UndoneErasure } from '../../shared/upkeep/undone-erasures.ts';
import { configOf } from '../configuration.ts';
import { globalsOf } from '../context.ts';
import { operatorOf } from '../database.ts';
import { counted, notice, print, printJson } from '../terminal/output.ts';
import { retryIfChanged } from '../terminal/retry-if-changed.ts';
import { confirmOrYes } from '../terminal/values.ts';

/** Adds `db restore`: it replaces the database by a copy of a backup, and keeps the old database under another name. */
export function addTo(parent: Command): void {
  parent
    .command('restore')
    .description('Put a backup in the place of the database; the old one is kept aside.')
    .argument('<file>', 'the backup, which stays as it is')
    .option('--with-people', 'also put in admins, passkeys and tokens that the database does not have, or not any more')
    .option('--erase-again', 'also erase the profiles again that the database has erased since the backup')
    .addHelpText(
      'after',
      `
Stop the server first. The backup is verified, copied and put in place in one step; a backup of an older version is
upgraded when "profilectl serve" starts, one of a newer version is refused. The old database stays beside the new one
as <database>.before-restore-<UTC time>: remove it when you no longer want it. Everybody is signed out of the Developer
Platform.

Everything is again as it was then: keys that were revoked since work again, and profiles that were erased since are
back. The erasures of the last 40 days that the database knows are listed, by UID and time, before anything is done; with
--erase-again they are carried out again, keys included (a backup of an older version is upgraded for that at once).
Look at "profilectl keys list --state Active" before you let clients in. Admins, passkeys and platforms' tokens are not:
those that the database has not (they were removed since, or there is no database) are listed and left out, unless
--with-people is given.

Examples:
  profilectl db restore /backups/profiles-2026-01-01.db
  profilectl db restore /backups/profiles-2026-01-01.db --yes --erase-again
  profilectl db restore /backups/profiles-2026-01-01.db --with-people    # after the database was lost`,
    )
    .action(async (file: string, options: Options, command: Command) => {
      const globals = globalsOf(command);
      const { source, undone, restored } = await restoreOnceAsked(file, options, command);
      const { profiles, keys } = source;
      const { kept, dropped, people } = restored;
      const [isPutIn, isErasedAgain] = [options.withPeople === true, options.eraseAgain === true];
      const erasedAgain = isErasedAgain ? (undone?.length ?? 0) : 0;
      for (const text of textsOf(source, restored, { isPutIn, isErasedAgain, erasedAgain })) notice(text);
      if (globals.json) {
        const undoneErasures = undone?.map(({ uid, atMs }) => ({ uid, at: isoTime(atMs) })) ?? null;
        const counts = { file, profiles, keys, keptAside: kept?.path ?? null, droppedMails: dropped };
        printJson({ ...counts, people: { ...people, isPutIn }, undoneErasures, erasedAgain });
      } else {
        const again = erasedAgain === 0 ? '' : ` Erased ${counted(erasedAgain, 'profile')} again.`;
        print(`Restored ${counted(profiles, 'profile')} and ${counted(keys, 'key')} from ${file}.${again}`);
      }
    });
}

type Options = { withPeople?: boolean; eraseAgain?: boolean };

/** Says which erasures the backup undoes, asks, and restores it; again where something has changed meanwhile. */
function restoreOnceAsked(file: string, options: Options, command: Command) {
  const globals = globalsOf(command);
  const config = configOf(globals);
  const { databasePath } = config;
  const isErasedAgain = options.eraseAgain === true;
  return retryIfChanged(!globals.yes, async () => {
    const restore = prepareRestore(databasePath, file, isErasedAgain);
    try {
      const { source, undone } = restore;
      notice(undoneText(undone, isErasedAgain));
      const what = `the backup ${file} (${counted(source.profiles, 'profile')}, ${counted(source.keys, 'key')})`;
      await confirmOrYes(globals.yes, `Put ${what} in the place of ${databasePath}?`);
      const isPutIn = options.withPeople === true;
      return { source, undone, restored: restore.run({ isPutIn, by: operatorOf(config) }) };
    } finally {
      restore.release();
    }
  });
}

/** What an operator should know after a restore, a sentence each. */
function textsOf(
  { schema, isOlder }: Verified,
  { kept, dropped, people }: Restored,
  how: { isPutIn: boolean; isErasedAgain: boolean; erasedAgain: number },
): string[] {
  const erased = how.isErasedAgain ? '' : ' and profiles that were erased';
  const found = people.admins.length + people.passkeys.length + people.tokens.length;
  return [
    kept === null ? [] : `The old database is kept as ${kept.path}${kept.isWhole ? '' : ' (it is damaged)'}.`,
    isOlder && how.erasedAgain === 0
      ? `The backup has the older schema ${schema}; "profilectl serve" upgrades it when it starts.`
      : [],
    `Keys that were revoked${erased} since this backup, if any, are as they were then.`,
    dropped.length === 0 ? [] : droppedText(dropped),
    found === 0 ? [] : peopleText(people, how.isPutIn, kept?.isWhole !== false),
  ].flat();
}

/** At most this many erasures are listed; `--json` has all. */
const LISTED_ERASURES = 100;

/** The erasures that a restore undoes, one a line; null where the database can't tell. */
function undoneText(undone: readonly UndoneErasure[] | null, isErasedAgain: boolean): string {
  if (undone === null)
    return 'Which profiles were erased since the backup is not known: there is no database that can be read.';
  if (undone.length === 0) return 'No profile of the backup was erased since, as far as the last 40 days are known.';
  const lines = undone.slice(0, LISTED_ERASURES).map(({ uid, atMs }) => `  UID ${uid}, erased at ${isoTime(atMs)}`);
  const more = undone.length - lines.length;
  const end = more === 0 ? [] : [`  and ${more} more`];
  const then = isErasedAgain ? 'They are carried out again' : 'With --erase-again they are carried out again';
  return [`The backup undoes ${counted(undone.length, 'erasure')}. ${then}:`, ...lines, ...end].join('\n');
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
