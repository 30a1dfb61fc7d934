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

/** Adds `db restore`, which replaces the database with a backup, and keeps the old database under another name. */
export function addTo(parent: Command): void {
  parent
    .command('restore')
    .description('Replace the database with a backup; the old database is kept.')
    .argument('<file>', 'the backup; it is not changed')
    .option('--with-people', 'also restore admins, passkeys and tokens that the current database lacks')
    .option('--erase-again', 'erase again the profiles that were erased since the backup')
    .addHelpText(
      'after',
      `
Stop the server first. The backup is verified and copied, and replaces the database in one step. A backup of an older
version is upgraded when "profilectl serve" starts; one of a newer version is refused. The old database is kept as
<database>.before-restore-<UTC time>: remove it when you no longer need it. Everyone is signed out of the Developer
Platform.

Keys that were revoked since the backup work again, and profiles that were erased since then return. The erasures of the last
40 days that the current database has recorded are listed first, by UID and time; with --erase-again, these profiles and
their keys are erased again (and a backup of an older version is upgraded at once). Check "profilectl keys list --state
Active" before you start the server. Admins, passkeys and tokens that the current database lacks (they were removed since the
backup, or there is no database) are listed but not restored, unless --with-people is given.

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
      const [isRestored, isErasedAgain] = [options.withPeople === true, options.eraseAgain === true];
      const erasedAgain = isErasedAgain ? (undone?.length ?? 0) : 0;
      for (const text of textsOf(source, restored, { isRestored, isErasedAgain, erasedAgain })) notice(text);
      if (globals.json) {
        const undoneErasures = undone?.map(({ uid, atMs }) => ({ uid, at: isoTime(atMs) })) ?? null;
        const counts = { file, profiles, keys, keptAside: kept?.path ?? null, droppedMails: dropped };
        printJson({ ...counts, people: { ...people, isRestored }, undoneErasures, erasedAgain });
      } else {
        const again = erasedAgain === 0 ? '' : ` Erased ${counted(erasedAgain, 'profile')} again.`;
        print(`Restored ${counted(profiles, 'profile')} and ${counted(keys, 'key')} from ${file}.${again}`);
      }
    });
}

type Options = { withPeople?: boolean; eraseAgain?: boolean };

/** Lists the erasures that the backup undoes, asks, and restores it; again if something has changed before the answer. */
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
      await confirmOrYes(globals.yes, `Replace ${databasePath} with ${what}?`);
      const isRestored = options.withPeople === true;
      return { source, undone, restored: restore.run({ isRestored, by: operatorOf(config) }) };
    } finally {
      restore.release();
    }
  });
}

/** What the operator should know after a restore, as sentences. */
function textsOf(
  { schema, isOlder }: Verified,
  { kept, dropped, people }: Restored,
  how: { isRestored: boolean; isErasedAgain: boolean; erasedAgain: number },
): string[] {
  const erased = how.isErasedAgain ? '' : ' and profiles erased';
  const found = people.admins.length + people.passkeys.length + people.tokens.length;
  return [
    kept === null ? [] : `The old database is kept as ${kept.path}${kept.isWhole ? '' : ' (it is damaged)'}.`,
    isOlder && how.erasedAgain === 0
      ? `The backup has the older schema ${schema}, which "profilectl serve" upgrades when it starts.`
      : [],
    `Keys revoked${erased} since this backup, if any, are back in their former state.`,
    dropped.length === 0 ? [] : droppedText(dropped),
    found === 0 ? [] : peopleText(people, how.isRestored, kept?.isWhole !== false),
  ].flat();
}

/** `--json` has all. */
const MAX_ERASURES_SHOWN = 100;

/** The erasures that a restore undoes, one per line; `undone` is null if there is no readable database. */
function undoneText(undone: readonly UndoneErasure[] | null, isErasedAgain: boolean): string {
  if (undone === null)
    return 'It is unknown which profiles were erased since the backup: there is no readable database.';
  if (undone.length === 0)
    return 'No profile in the backup has been erased since, according to the records of the last 40 days.';
  const lines = undone.slice(0, MAX_ERASURES_SHOWN).map(({ uid, atMs }) => `  UID ${uid}, erased at ${isoTime(atMs)}`);
  const more = undone.length - lines.length;
  const end = more === 0 ? [] : [`  and ${more} more`];
  const then = isErasedAgain
    ? 'These profiles will be erased again'
    : 'With --erase-again these profiles are erased again';
  return [`The backup undoes ${counted(undone.length, 'erasure')}. ${then}:`, ...lines, ...end].join('\n');
}

function droppedText(dropped: readonly Dropped[]): string {
  // Several admins get the same mail.
  const which = new Set(dropped.map((one) => `${one.kind} about ${subjectInWords(one)}`));
  return `${counted(dropped.length, 'mail')} waiting in the backup may have been sent since, and will not be sent: ${[...which].join(', ')}.`;
}

function peopleText({ admins, passkeys, tokens }: RestoredPeople, isRestored: boolean, isOldKnown: boolean): string {
  const who = [
    ...admins.map((name) => `admin ${name}`),
    ...passkeys.map(({ admin, name }) => `passkey "${name}" of admin ${admin}`),
    ...tokens.map(({ name, identifier }) => `token ${identifier} of backend ${name}`),
  ].join(', ');
  const old = 'the replaced database';
  return isRestored
    ? `Restored, although ${old} ${isOldKnown ? 'does not have them' : 'is damaged'}: ${who}. Use "profilectl admins remove" and "profilectl tokens remove" to remove them.`
    : `Not restored, because ${old} ${isOldKnown ? 'does not have them' : 'is damaged'}: ${who}. They may have been removed since; to restore them too, restore the backup again with --with-people.`;
}
