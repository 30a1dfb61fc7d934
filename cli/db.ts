import { statSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { systemClock } from '../shared/clock.ts';
import { AppError } from '../shared/errors.ts';
import { checkDatabase, copyDatabase, recordBackup } from '../shared/files/copy.ts';
import { emptyLog, vacuumDatabase } from '../shared/files/disk.ts';
import { prepareRestore, type Restored } from '../shared/files/restore.ts';
import { bytesText, cleanForTerminal, shellWord } from '../shared/text.ts';
import { configOf, globalsOf, operatorOf, withDatabase } from './context.ts';
import { lowerPriority } from './service/own-program.ts';
import { counted, notice, print, printJson } from './terminal/output.ts';
import { confirmOrYes } from './terminal/values.ts';

/** Adds `db backup`, `db restore`, `db check` and `db vacuum`. */
export function addDb(program: Command): void {
  const db = program.command('db').description('Back up, restore, check and vacuum the database.');
  db.command('backup')
    .description('Back up the database to a new file, even while the server runs.')
    .argument('<file>', 'the new file; an existing file is never overwritten')
    .option('--scheduled', 'made by a timer: "status" warns when the last one is old')
    .addHelpText(
      'after',
      `
A backup has e-mail addresses and hashes of secrets: protect it like the
database. It has no sign-ins, no waiting mails and no configuration.

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
ended: profiles erased or banned, keys stopped or ended, and admins, passkeys
and tokens removed. To undo that too, move the old database away first. Everyone
is signed out. The old database is kept as <database>.before-restore-<time>;
remove it when you can.

Example:
  profilectl db restore /backups/profiles-2026-01-01.db`,
    )
    .action(restore);
  db.command('check')
    .description('Check the database: the file, its references and its keys.')
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
    .addOption(new Option('--log-only', 'empty only the write-ahead log').hideHelp())
    .addHelpText(
      'after',
      `
A running server does so at night after profiles were erased. It answers
meanwhile, but writes wait. The disk needs twice the size of the database.
Refused (75) while a key is being approved.

Example:
  profilectl db vacuum`,
    )
    .action(vacuum);
}

function backup(file: string, { scheduled = false }: { scheduled?: boolean }, command: Command): Promise<void> {
  return withDatabase(command, 'look', (db) => {
    const { $client } = db;
    const { bytes, profiles, keys } = copyDatabase($client, file, (step) =>
      say(step === 'copy' ? `Copying ${sizeText($client.filename)}` : `Verifying ${file}`),
    );
    if (scheduled) recordBackup(db, file);
    const what = `${counted(profiles, 'profile')} and ${counted(keys, 'key')}`;
    if (globalsOf(command).json) printJson({ file, bytes, profiles, keys });
    else print(`Backed up ${what} to ${file} (${bytesText(bytes)}).`);
  });
}

function check(command: Command): Promise<void> {
  return withDatabase(command, 'look', (db) => {
    say(`Checking ${sizeText(db.$client.filename)}`);
    const { faults, profiles, keys } = checkDatabase(db);
    const found = `${counted(profiles, 'profile')} and ${counted(keys, 'key')}`;
    const text =
      faults.length === 0
        ? `No problems found in ${found}.`
        : faults.map((fault) => cleanForTerminal(fault)).join('\n');
    if (globalsOf(command).json) printJson({ ok: faults.length === 0, faults });
    else print(text);
    if (faults.length > 0) throw new AppError('refused', `${counted(faults.length, 'problem')} found.`);
  });
}

/** How long emptying the log waits for readers, in milliseconds. */
const LOG_WAIT_MS = 200;

function vacuum({ logOnly = false }: { logOnly?: boolean }, command: Command): Promise<void> {
  // Emptying the log locks it for an instant, which is long for a process that hardly runs.
  lowerPriority(logOnly ? 5 : 10);
  return withDatabase(command, 'use', (db) => {
    if (logOnly) {
      emptyLog(db.$client, LOG_WAIT_MS);
      return printJson({ milliseconds: 0 });
    }
    say(`Vacuuming ${sizeText(db.$client.filename)}`);
    const done = vacuumDatabase(db, systemClock);
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
  const ready = prepareRestore(databasePath, file, config);
  try {
    const { profiles, keys } = ready.source;
    const what = `the backup ${file} (${counted(profiles, 'profile')}, ${counted(keys, 'key')})`;
    await confirmOrYes(yes, `Replace ${databasePath} with ${what}?`);
    const { replaced, ...kept } = ready.run(operatorOf(config));
    for (const text of remarks({ replaced, ...kept })) notice(text);
    if (json) printJson({ file, profiles, keys, replaced, kept });
    else print(`Restored ${counted(profiles, 'profile')} and ${counted(keys, 'key')} from ${file}.`);
  } finally {
    ready.release();
  }
}

/** `--json` has all. */
const MAX_SHOWN = 100;

/** What the operator should know after a restore, as sentences. */
function remarks({ replaced, ...kept }: Restored): string[] {
  const { admins, passkeys, tokens } = kept;
  if (replaced === null || !replaced.isReadable) {
    const old =
      replaced === null ? 'There was no database here' : `The old database, kept as ${replaced.path}, can't be read`;
    const back =
      admins.length + tokens.length === 0
        ? []
        : [
            'These are back, also if they were removed since the backup; what removes each:',
            ...admins.map((name) => `  profilectl admins remove ${shellWord(name)}`),
            ...tokens.map(({ name, identifier }) => `  profilectl tokens remove ${identifier}   # ${name}`),
          ];
    return [`${old}: nothing that was ended since the backup stays ended.`, ...back];
  }
  const names: [what: string, names: string[]][] = [
    ['profiles erased', kept.erased.map((uid) => `UID ${uid}`)],
    ['profiles banned', kept.banned.map((uid) => `UID ${uid}`)],
    ['keys', kept.keys],
    ['admins removed', admins],
    ['passkeys removed', passkeys.map(({ admin, name }) => `"${name}" of ${admin}`)],
    ['tokens removed', tokens.map(({ name, identifier }) => `${identifier} of ${name}`)],
  ];
  const lines = names.flatMap(([what, all]) => {
    const more = all.length > MAX_SHOWN ? ` and ${all.length - MAX_SHOWN} more` : '';
    return all.length === 0 ? [] : [`  ${what}: ${all.slice(0, MAX_SHOWN).join(', ')}${more}`];
  });
  const ended =
    lines.length === 0 ? 'Nothing of the backup has ended since.' : 'What had ended since the backup stays so:';
  return [`The old database is kept as ${replaced.path}; erasures do not reach it.`, ended, ...lines];
}

/** Says on a terminal what a long command is doing. SQLite does it in one call, so there is no percentage. */
function say(what: string): void {
  if (process.stderr.isTTY) notice(`${what} …`);
}

/** The size of a file as text, such as `12.3 MiB`. */
function sizeText(file: string): string {
  return bytesText(statSync(file, { throwIfNoEntry: false })?.size ?? 0);
}
