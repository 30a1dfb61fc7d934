import type { Command } from 'commander';
import { unconfirmedPasskey } from '../../shared/admins/admins.ts';
import { confirmPasskey } from '../../shared/passkeys/passkeys.ts';
import { withAccess } from '../access.ts';
import { notice, print, printJson } from '../terminal/output.ts';
import { confirmOrYes } from '../terminal/values.ts';
import { passkeyText } from './print.ts';

/** Adds `admins confirm`, which confirms a registered passkey so that the admin can sign in with it. */
export function addTo(parent: Command): void {
  parent
    .command('confirm')
    .description('Show when and from where an admin registered a passkey, and confirm it.')
    .argument('<admin>', 'the name of the admin')
    .addHelpText(
      'after',
      `
Check with the admin that the time and place are right. If not, "profilectl admins invite" revokes the passkey and prints a
new link.

Example:
  profilectl admins confirm Grace`,
    )
    .action((admin: string, _options: unknown, command: Command) =>
      withAccess(command, async ({ access, actor, json, yes }) => {
        const { name, passkey } = unconfirmedPasskey(access, admin);
        notice(passkeyText(name, passkey));
        await confirmOrYes(yes, 'Confirm this passkey?');
        // By its id, so that no other passkey than the one shown is confirmed.
        confirmPasskey(access, passkey.id, actor);
        if (json) printJson({ name, passkey: passkey.name, confirmed: true });
        else print(`Confirmed the passkey of ${name}.`);
      }),
    );
}
