import type { Command } from 'commander';
import { addAdmin } from '../../shared/admins/admins.ts';
import { withAccess } from '../access.ts';
import { printInvitation } from './print.ts';

/** `admins add`: one more admin, and the address where that person registers a passkey. */
export function addTo(parent: Command): void {
  parent
    .command('add')
    .description('Add an admin and print the address where that person registers a passkey.')
    .argument('<name>', 'how the admin is called in histories, 1 to 64 characters')
    .addHelpText(
      'after',
      `
The address works once, for 15 minutes; opening it changes nothing. The passkey counts only after "profilectl admins
confirm". Passkeys belong to the host of PUBLIC_URL, which must be a name, and https or localhost.

Examples:
  profilectl admins add Grace
  profilectl admins add Grace --json`,
    )
    .action((name: string, _options: unknown, command: Command) =>
      withAccess(command, (context) => {
        printInvitation(context, addAdmin(context.access, name, context.actor));
      }),
    );
}
