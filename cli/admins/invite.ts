import type { Command } from 'commander';
import { shownAdmin } from '../../shared/admins/admin-version.ts';
import { findAdmin, inviteAdmin } from '../../shared/admins/admins.ts';
import { listPasskeys } from '../../shared/passkeys/passkeys.ts';
import { withAccess } from '../access.ts';
import { withShownVersion } from '../database.ts';
import { counted, notice } from '../terminal/output.ts';
import { retryIfChanged } from '../terminal/retry-if-changed.ts';
import { confirmOrYes } from '../terminal/values.ts';
import { printInvitation } from './print.ts';

/** Adds `admins invite`, which ends an admin's sessions, by default revokes their passkeys, and prints a new link. */
export function addTo(parent: Command): void {
  parent
    .command('invite')
    .description("Revoke an admin's passkeys, end their sessions, and print a new link.")
    .argument('<admin>', 'the name of the admin')
    .option('--keep-passkeys', 'keep the confirmed passkeys, to register another one')
    .addHelpText(
      'after',
      `
In any case their sessions and profilectl logins end, and older links and an unconfirmed passkey stop working.

Examples:
  profilectl admins invite Grace                    # revokes all passkeys
  profilectl admins invite Grace --keep-passkeys    # to register another passkey`,
    )
    .action((admin: string, options: { keepPasskeys?: boolean }, command: Command) =>
      withAccess(command, async (context) => {
        const { access, actor, yes } = context;
        const keepPasskeys = options.keepPasskeys === true;
        const { name } = findAdmin(access.db, admin);
        const invitation = await retryIfChanged(!yes, async () => {
          const by = withShownVersion(actor, shownAdmin(access.db, name));
          const confirmed = listPasskeys(access.db, name).filter(({ confirmedAt }) => confirmedAt !== null);
          if (!keepPasskeys && confirmed.length > 0) {
            await confirmOrYes(yes, `Revoke ${counted(confirmed.length, 'passkey')} and end all sessions of ${name}?`);
          }
          return inviteAdmin(access, name, { keepPasskeys }, by);
        });
        if (invitation.endedPasskeys > 0) notice(`Revoked ${counted(invitation.endedPasskeys, 'passkey')} of ${name}.`);
        printInvitation(context, invitation);
      }),
    );
}
