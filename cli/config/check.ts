import type { Command } from 'commander';
import { systemClock } from '../../shared/clock.ts';
import { checkDatabasePath } from '../../shared/config/database-path.ts';
import { type ConfigReport, reportConfig } from '../../shared/config/report.ts';
import { AppError } from '../../shared/errors.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { globalsOf } from '../context.ts';
import { counted, print, printJson, table } from '../terminal/output.ts';

/** Adds `config check`, which shows every variable, where its value comes from, and any problems. */
export function addTo(parent: Command): void {
  parent
    .command('check')
    .description('Show every variable, where its value comes from, and any problems.')
    .addHelpText(
      'after',
      `
Passwords and tokens are hidden. A problem prevents all commands, or only "profilectl serve", from starting, and the exit code
is 2. A warning, for example about a file that other users can read, does not.

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
      if (report.faults.length > 0)
        throw new AppError('bad_config', `${counted(report.faults.length, 'problem')} found.`);
    });
}

function reportText({ variables, faults, warnings }: ConfigReport): string {
  const rows = variables.map(({ name, value, from }) => [name, value ?? '–', from]);
  const remarks = [...faults.map((text) => `Problem: ${text}`), ...warnings.map((text) => `Warning: ${text}`)];
  const below = remarks.length === 0 ? 'No problems found.' : remarks.map((text) => cleanForTerminal(text)).join('\n');
  // Values are never truncated, because people compare or copy them.
  return `${table(['Variable', 'Value', 'From'], rows)}\n\n${below}`;
}
