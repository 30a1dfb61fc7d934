import type { Command } from 'commander';
import { print, printJson } from '../output.ts';
import { withAccess } from './access.ts';

/** Adds `admins list`: it prints all admins with their passkeys. */
export function addTo(parent: Command): void {
  parent
    .command('list')
    .description('List admins, what each waits for, and their passkeys.')
    .addHelpText('after', '\nExample:\n  profilectl admins list --json')
    .action((_options: unknown, command: Command) =>
      withAccess(command, async ({ access, json }) => {
        const { listAdmins } = await import('../../shared/access/admins.ts');
        const { adminsText } = await import('./print.ts');
        const admins = listAdmins(access);
        if (json) printJson({ admins });
        else print(adminsText(admins));
      }),
    );
}
