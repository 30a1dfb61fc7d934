import { type Command, Option } from 'commander';
import { systemClock } from '../../shared/clock.ts';
import { PATIENT_WAIT_MS, vacuumDatabase } from '../../shared/db-files/vacuum.ts';
import { AppError } from '../../shared/errors.ts';
import { sweepBeside } from '../../shared/sign-in/sweep.ts';
import { bytesText } from '../../shared/text.ts';
import { globalsOf } from '../context.ts';
import { withDatabase } from '../database.ts';
import { lowerPriority } from '../service/lower-priority.ts';
import { refuseOtherProgram } from '../service/same-program.ts';
import { print, printJson } from '../terminal/output.ts';
import { createSteps, sizeText } from './steps.ts';

/** Adds `db vacuum`, which removes the copies of erased text that SQLite has left in the database file. */
export function addTo(parent: Command): void {
  parent
    .command('vacuum')
    .description('Rewrite the database file to remove all text of erased profiles from it.')
    .option('--wait', 'wait up to a minute for imports to end, and make new ones wait')
    .addOption(new Option('--from-server <program>', 'the server that starts this command').hideHelp())
    .addHelpText(
      'after',
      `
Erased profiles disappear at once, but copies of their text may remain in unused parts of the file. A running server vacuums
the file when needed, at most once every 23 hours; this command does so now. "status" says whether copies may remain, and
since when. Data of erased profiles in the sessions file is removed too.

The server may be running, and keeps answering; other commands that write wait up to ten seconds, and imports wait until
this one has finished. Its disk needs free space of twice the size of the database. The command is refused while an import
or an approval is running (exit code 75: try again later). With --wait it gets its turn even if imports follow one another
without a pause.

Examples:
  profilectl db vacuum
  profilectl db vacuum --json`,
    )
    .action((options: { fromServer?: string; wait?: true }, command: Command) => {
      refuseOtherProgram(options.fromServer);
      return withDatabase(command, 'use', async (db) => {
        lowerPriority();
        const steps = createSteps(systemClock);
        try {
          sweepBeside(db, systemClock);
        } catch (error) {
          if (!(error instanceof AppError)) throw error;
          steps.warn(error.message);
        }
        steps.begin(`Vacuuming ${sizeText(db.$client.filename)}`);
        const done = vacuumDatabase(db, systemClock, options.wait === true ? PATIENT_WAIT_MS : undefined);
        steps.end();
        if (globalsOf(command).json) printJson(done);
        else {
          const { milliseconds, bytesBefore, bytesAfter } = done;
          const sizes = `from ${bytesText(bytesBefore)} to ${bytesText(bytesAfter)}`;
          print(`Vacuumed ${sizes} in ${(milliseconds / 1000).toFixed(1)} s; no erased text is left in the file.`);
        }
      });
    });
}
