import type { Command } from 'commander';
import { addAdmin } from '../../shared/admins/admins.ts';
import { withAccess } from '../access.ts';
import { printInvitation } from './print.ts';

/** Adds `admins add`, which adds an admin and prints the link that they use to register a passkey. */
export function addTo(parent: Command): void {
  parent
    .command('add')
    .description('Add an admin and print the link that they use to register a passkey.')
    .argument('<name>', 'the name of the admin, as histories show it; 1 to 64 characters')
    .addHelpText(
      'after',
      `
The link works once, for 15 minutes; opening it changes nothing. The passkey works only after "profilectl admins confirm".
Passkeys belong to the host of PUBLIC_URL, which must be a domain name, with https unless it is localhost.

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
