import type { Command } from 'commander';
import { systemClock } from '../../shared/clock.ts';
import { checkDatabasePath } from '../../shared/config/database-path.ts';
import { type ConfigReport, reportConfig } from '../../shared/config/report.ts';
import { AppError } from '../../shared/errors.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { globalsOf } from '../context.ts';
import { counted, print, printJson, table } from '../terminal/output.ts';

/** Adds `config check`, which shows every variable, where its value comes from, and what is wrong with it. */
export function addTo(parent: Command): void {
  parent
    .command('check')
    .description('Show every variable, where its value comes from, and what is wrong.')
    .addHelpText(
      'after',
      `
Passwords and tokens are not shown. Faults prevent the program, or only "profilectl serve", from starting; the exit code
is then 2. Warnings, for example about files that other users can read, prevent nothing.

Examples:
  profilectl config check
  profilectl config check --env-file /etc/profile-lookup.env`,
    )
    .action(async (_options: unknown, command: Command) => {
      const { json, envFile, db } = globalsOf(command);
      const databasePath = db === undefined ? undefined : checkDatabasePath('--db', db);
      const report = reportConfig({ envFile, databasePath }, systemClock);
      if (json) printJson({ ok: report.faults.length === 0, ...report });
      else print(reportText(report));
      if (report.faults.length > 0) throw new AppError('bad_config', `${counted(report.faults.length, 'fault')}.`);
    });
}

function reportText({ variables, faults, warnings }: ConfigReport): string {
  const rows = variables.map(({ name, value, from }) => [name, value ?? '–', from]);
  const remarks = [...faults.map((text) => `Fault: ${text}`), ...warnings.map((text) => `Warning: ${text}`)];
  const below = remarks.length === 0 ? 'No faults.' : remarks.map((text) => cleanForTerminal(text)).join('\n');
  // The table is never truncated, because people compare or copy the values.
  return `${table(['Variable', 'Value', 'From'], rows)}\n\n${below}`;
}
