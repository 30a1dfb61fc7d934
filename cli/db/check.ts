import type { Command } from 'commander';
import { systemClock } from '../../shared/clock.ts';
import type { Opened } from '../../shared/db/connect.ts';
import { AppError } from '../../shared/errors.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { type Checked, type CheckStep, checkDatabase } from '../../shared/upkeep/check.ts';
import { type RestoreTestStep, testRestore } from '../../shared/upkeep/restore-test.ts';
import { configOf } from '../configuration.ts';
import { type Globals, globalsOf } from '../context.ts';
import { withDatabase } from '../database.ts';
import { counted, print, printJson } from '../terminal/output.ts';
import { createSteps } from './steps.ts';

const STEPS: Record<RestoreTestStep, string> = {
  verify: 'Verifying the backup',
  copy: 'Copying it into a temporary folder',
  upgrade: 'Upgrading the copy',
  file: 'Checking pages, indexes and references',
  schema: 'Comparing the schema',
  profiles: 'Checking profiles',
  keys: 'Checking keys',
};

/** Adds `db check`, which checks the database or a backup for damage and invalid data. */
export function addTo(parent: Command): void {
  parent
    .command('check')
    .description('Check the database or a backup: the file, its schema, profiles and keys.')
    .option('--restore <backup>', 'restore this backup into a temporary folder, upgrade it and check it there')
    .addHelpText(
      'after',
      `
Reads everything and changes nothing; the server may be running. Prints each problem on its own line; the exit code is then 1.
If the file itself is damaged, restore a backup.

With --restore, the database is neither read nor changed. A successful test is recorded in <database>.last-restore-test, for
"status" and /metrics. The temporary folder is in TMPDIR, needs free space of twice the size of the backup, and is removed
afterwards. If the command is killed, "status" names the folder, and the next check with --restore, backup or restore
removes it.

Examples:
  profilectl db check
  profilectl db check --json | jq -r '.faults[]'
  profilectl db check --restore /backups/profiles-2026-01-01.db`,
    )
    .action(({ restore }: { restore?: string }, command: Command) =>
      restore === undefined
        ? withDatabase(command, 'look', (db) => checkLive(db, globalsOf(command).json))
        : checkRestored(globalsOf(command), restore),
    );
}

async function checkLive(db: Opened, json: boolean): Promise<void> {
  const steps = createSteps(systemClock);
  const checked = checkDatabase(db, (step: CheckStep) => steps.begin(STEPS[step]));
  steps.end();
  const { faults, profiles, keys } = checked;
  if (json) printJson({ ok: faults.length === 0, faults });
  else printChecked(checked, `${counted(profiles, 'profile')} and ${counted(keys, 'key')}`);
  throwFaults(checked);
}

async function checkRestored(globals: Globals, file: string): Promise<void> {
  const { databasePath } = configOf(globals);
  const steps = createSteps(systemClock);
  const tested = testRestore(databasePath, file, (step) => steps.begin(STEPS[step]));
  steps.end();
  if (tested.warning !== null) steps.warn(tested.warning);
  const { faults, profiles, keys, schema } = tested;
  if (globals.json) printJson({ ok: faults.length === 0, faults, file, profiles, keys, schema });
  else
    printChecked(
      tested,
      `${file} (schema ${schema}), which restores ${counted(profiles, 'profile')} and ${counted(keys, 'key')}`,
    );
  throwFaults(tested);
}

function printChecked({ faults }: Checked, found: string): void {
  if (faults.length === 0) print(`No problems found in ${cleanForTerminal(found)}.`);
  else for (const fault of faults) print(cleanForTerminal(fault));
}

function throwFaults({ faults }: Checked): void {
  if (faults.length > 0) throw new AppError('refused', `${counted(faults.length, 'problem')} found.`);
}
