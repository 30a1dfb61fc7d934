import type { Command } from 'commander';
import { listAdmins } from '../../shared/admins/admins.ts';
import { withAccess } from '../access.ts';
import { print, printJson } from '../terminal/output.ts';
import { adminsText } from './print.ts';

/** Adds `admins list`, which lists all admins with their passkeys. */
export function addTo(parent: Command): void {
  parent
    .command('list')
    .description('List admins with their states and passkeys.')
    .addHelpText('after', '\nExample:\n  profilectl admins list --json')
    .action((_options: unknown, command: Command) =>
      withAccess(command, ({ access, json }) => {
        const admins = listAdmins(access);
        if (json) printJson({ admins });
        else print(adminsText(admins));
      }),
    );
}
