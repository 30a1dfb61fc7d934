import { statSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { RestoredPeople } from '../shared/admins/restored-people.ts';
import { isoTime, systemClock } from '../shared/clock.ts';
import { PATIENT_WAIT_MS, vacuumDatabase } from '../shared/db-files/vacuum.ts';
import { AppError } from '../shared/errors.ts';
import { type Dropped, subjectInWords } from '../shared/mail/outbox.ts';
import { sweepBeside } from '../shared/sign-in/sweep.ts';
import { bytesText, cleanForTerminal, shellWord } from '../shared/text.ts';
import { backupDatabase } from '../shared/upkeep/backup.ts';
import { type CheckStep, checkDatabase } from '../shared/upkeep/check.ts';
import { prepareRestore, type Restored } from '../shared/upkeep/restore.ts';
import type { UndoneErasure } from '../shared/upkeep/undone-erasures.ts';
import { configOf } from './configuration.ts';
import { globalsOf } from './context.ts';
import { operatorOf, withContext, withDatabase } from './database.ts';
import { lowerPriority } from './service/lower-priority.ts';
import { refuseOtherProgram } from './service/same-program.ts';
import { counted, notice, print, printJson } from './terminal/output.ts';
import { retryIfChanged } from './terminal/retry-if-changed.ts';
import { confirmOrYes } from './terminal/values.ts';

/** Adds `db backup`, `db restore`, `db check` and `db vacuum`. */
export function addDb(program: Command): void {
  const db = program.command('db').description('Back up, restore, check and vacuum the database.');
  db.command('backup')
    .description('Back up the database to a new file, also while the server runs.')
    .argument('<file>', 'the new file; an existing file is never overwritten')
    .addHelpText(
      'after',
      `
It has e-mail addresses and hashes of secrets: protect it like the database. It
has no sign-ins, no mails and no configuration.

Example:
  profilectl db backup /backups/profiles-$(date +%F).db`,
    )
    .action(backup);
  db.command('restore')
    .description('Replace the database with a backup; the old database is kept.')
    .argument('<file>', 'the backup; it is not changed')
    .addHelpText(
      'after',
      `
Stop the server first. What was ended in the old database since the backup stays
so: profiles erased, and admins, passkeys and tokens removed. To undo that too,
move the old database away first. Everyone is signed out. The old database is
kept as <database>.before-restore-<time>; remove it when you can.

Example:
  profilectl db restore /backups/profiles-2026-01-01.db`,
    )
    .action(restore);
  db.command('check')
    .description('Check the database: the file, its schema, profiles and keys.')
    .addHelpText(
      'after',
      `
Reads everything and changes nothing; the server may be running. Prints a line
for each problem; the exit code is then 1.

Examples:
  profilectl db check
  profilectl db check --db /backups/profiles-2026-01-01.db`,
    )
    .action((_options: unknown, command: Command) => check(command));
  db.command('vacuum')
    .description('Rewrite the database file, without any text of erased profiles.')
    .option('--wait', 'wait up to a minute for imports to end, and make new ones wait')
    .addOption(new Option('--from-server <program>', 'the server that starts this command').hideHelp())
    .addHelpText(
      'after',
      `
A running server does so when needed, at most once every 23 hours. It answers
meanwhile, but writes wait. The disk needs twice the size of the database.
Refused (75) while an import or an approval is running.

Example:
  profilectl db vacuum`,
    )
    .action(vacuum);
}

function backup(file: string, _options: unknown, command: Command): Promise<void> {
  return withContext(command, 'look', ({ deps, json }) => {
    const steps = createSteps();
    const done = backupDatabase(deps.db, file, (step) =>
      steps.begin(step === 'copy' ? `Copying ${sizeText(deps.config.databasePath)}` : `Verifying ${file}`),
    );
    steps.end();
    if (done.warning !== null) notice(`Warning: ${done.warning}`);
    const { bytes, profiles, keys } = done;
    const what = `${counted(profiles, 'profile')} and ${counted(keys, 'key')}`;
    if (json) printJson({ file, bytes, profiles, keys });
    else print(`Backed up ${what} to ${file} (${bytesText(bytes)}).`);
  });
}

const CHECK_STEPS: Record<CheckStep, string> = {
  file: 'Checking pages, indexes and references',
  schema: 'Comparing the schema',
  profiles: 'Checking profiles',
};

function check(command: Command): Promise<void> {
  return withDatabase(command, 'look', (db) => {
    const steps = createSteps();
    const { faults, profiles, keys } = checkDatabase(db, (step) => steps.begin(CHECK_STEPS[step]));
    steps.end();
    const found = `${counted(profiles, 'profile')} and ${counted(keys, 'key')}`;
    if (globalsOf(command).json) printJson({ ok: faults.length === 0, faults });
    else
      print(
        faults.length === 0
          ? `No problems found in ${found}.`
          : faults.map((fault) => cleanForTerminal(fault)).join('\n'),
      );
    if (faults.length > 0) throw new AppError('refused', `${counted(faults.length, 'problem')} found.`);
  });
}

function vacuum(options: { fromServer?: string; wait?: true }, command: Command): Promise<void> {
  refuseOtherProgram(options.fromServer);
  return withDatabase(command, 'use', (db) => {
    lowerPriority();
    const steps = createSteps();
    try {
      sweepBeside(db, systemClock);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      notice(`Warning: ${error.message}`);
    }
    steps.begin(`Vacuuming ${sizeText(db.$client.filename)}`);
    const done = vacuumDatabase(db, systemClock, options.wait === true ? PATIENT_WAIT_MS : undefined);
    steps.end();
    const { milliseconds, bytesBefore, bytesAfter } = done;
    const sizes = `from ${bytesText(bytesBefore)} to ${bytesText(bytesAfter)}`;
    if (globalsOf(command).json) printJson(done);
    else print(`Vacuumed ${sizes} in ${(milliseconds / 1000).toFixed(1)} s; no erased text is left in the file.`);
  });
}

async function restore(file: string, _options: unknown, command: Command): Promise<void> {
  const { yes, json, ...globals } = globalsOf(command);
  const config = configOf({ yes, json, ...globals });
  const { databasePath } = config;
  const { source, undone, restored } = await retryIfChanged(!yes, async () => {
    const ready = prepareRestore(databasePath, file);
    try {
      const { source, undone } = ready;
      notice(erasuresText(undone));
      const what = `the backup ${file} (${counted(source.profiles, 'profile')}, ${counted(source.keys, 'key')})`;
      await confirmOrYes(yes, `Replace ${databasePath} with ${what}?`);
      return { source, undone, restored: ready.run(operatorOf(config)) };
    } finally {
      ready.release();
    }
  });
  const { profiles, keys } = source;
  const { kept, dropped, people, areRestored } = restored;
  for (const text of remarks(restored)) notice(text);
  if (json) {
    const erasedAgain = undone?.map(({ uid, atMs }) => ({ uid, at: isoTime(atMs) })) ?? null;
    const rest = { keptAside: kept?.path ?? null, droppedMails: dropped, erasedAgain };
    printJson({ file, profiles, keys, ...rest, people: { ...people, areRestored } });
  } else {
    print(`Restored ${counted(profiles, 'profile')} and ${counted(keys, 'key')} from ${file}.`);
  }
}

/** `--json` has all. */
const MAX_ERASURES_SHOWN = 100;

/** The erasures that are repeated in the backup, one per line; `undone` is null if there is no readable database. */
function erasuresText(undone: readonly UndoneErasure[] | null): string {
  if (undone === null) return 'There is no readable database: nothing that was ended since the backup stays ended.';
  if (undone.length === 0) return 'No profile in the backup was erased since, by the records of the last 40 days.';
  const lines = undone.slice(0, MAX_ERASURES_SHOWN).map(({ uid, atMs }) => `  UID ${uid}, erased at ${isoTime(atMs)}`);
  const more = undone.length - lines.length;
  const end = more === 0 ? [] : [`  and ${more} more`];
  return [`These profiles of the backup were erased since, and stay erased:`, ...lines, ...end].join('\n');
}

/** What the operator should know after a restore, as sentences. */
function remarks({ kept, dropped, people, areRestored }: Restored): string[] {
  const found = people.admins.length + people.passkeys.length + people.tokens.length;
  return [
    kept === null ? [] : `The old database is kept as ${kept.path}${kept.isWhole ? '' : ' (it is damaged)'}.`,
    'Keys revoked since this backup, if any, are back in their former state.',
    dropped.length === 0 ? [] : droppedText(dropped),
    found === 0 ? [] : areRestored ? restoredText(people) : leftOutText(people),
  ].flat();
}

function droppedText(dropped: readonly Dropped[]): string {
  // Several admins get the same mail.
  const which = new Set(dropped.map((one) => `${one.kind} about ${subjectInWords(one)}`));
  return `${counted(dropped.length, 'mail')} waiting in the backup may have been sent since, and will not be sent: ${[...which].join(', ')}.`;
}

function leftOutText({ admins, passkeys, tokens }: RestoredPeople): string {
  const who = [
    ...admins.map((name) => `admin ${name}`),
    ...passkeys.map(({ admin, name }) => `passkey "${name}" of admin ${admin}`),
    ...tokens.map(({ name, identifier }) => `token ${identifier} of backend ${name}`),
  ];
  return `Left out, because the old database does not have them: ${who.join(', ')}.`;
}

function restoredText({ admins, tokens }: RestoredPeople): string {
  return [
    'Back from the backup, also if they were removed since; what removes each:',
    ...admins.map((name) => `  profilectl admins remove ${shellWord(name)}`),
    ...tokens.map(({ name, identifier }) => `  profilectl tokens remove ${identifier}   # ${name}`),
  ].join('\n');
}

/**
 * Shows the steps of a long command on stderr, if that is a terminal, with the time that each took. SQLite copies or checks a
 * database in one call, so there is no percentage.
 */
function createSteps() {
  const isSeen = process.stderr.isTTY === true;
  let startedMs: number | null = null;
  const end = (): void => {
    if (startedMs !== null && isSeen) {
      process.stderr.write(` ${((systemClock.monotonicMs() - startedMs) / 1000).toFixed(1)} s\n`);
    }
    startedMs = null;
  };
  const begin = (what: string): void => {
    end();
    startedMs = systemClock.monotonicMs();
    if (isSeen) process.stderr.write(`${cleanForTerminal(what)} …`);
  };
  return { begin, end };
}

/** The size of a file as text, such as `12.3 MiB`. */
function sizeText(file: string): string {
  return bytesText(statSync(file, { throwIfNoEntry: false })?.size ?? 0);
}
