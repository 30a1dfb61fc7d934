import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import type { CheckStep } from '../../shared/upkeep/check.ts';
import { withContext } from '../context.ts';
import { counted, print, printJson } from '../output.ts';
import { createSteps } from './steps.ts';

const STEPS: Record<CheckStep, string> = {
  file: 'Checking pages, indexes and references',
  schema: 'Comparing the schema',
  profiles: 'Checking profiles',
  keys: 'Checking keys',
};

/** `db check`: is the file sound, and does it hold only what the rules allow? */
export function addTo(parent: Command): void {
  parent
    .command('check')
    .description('Check the database: the file, its schema, profiles and keys.')
    .addHelpText(
      'after',
      `
Reads everything and changes nothing; the server may run. Each fault is one line; the exit code is then 1. Where the file
itself is damaged, restore a backup.

Examples:
  profilectl db check
  profilectl db check --json | jq -r '.faults[]'`,
    )
    .action((_options: unknown, command: Command) =>
      withContext(command, 'look', async ({ deps, json }) => {
        const { checkDatabase } = await import('../../shared/upkeep/check.ts');
        const steps = createSteps(deps.clock);
        const { faults, profiles, keys } = checkDatabase(deps.db, (step) => steps.begin(STEPS[step]));
        steps.end();
        const ok = faults.length === 0;
        if (json) printJson({ ok, faults });
        else if (ok) print(`No faults: ${counted(profiles, 'profile')} and ${counted(keys, 'key')} as they should be.`);
        else for (const fault of faults) print(cleanForTerminal(fault));
        if (!ok) throw new AppError('refused', `${counted(faults.length, 'fault')}.`);
      }),
    );
}
