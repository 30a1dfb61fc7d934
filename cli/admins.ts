import type { Command } from 'commander';
import { type AdminView, addAdmin, findAdmin, listAdmins, removeAdmin } from '../shared/admins.ts';
import { listPasskeys } from '../shared/sign-in/passkeys.ts';
import { withContext } from './context.ts';
import { counted, notice, print, printJson, table, timeCell } from './terminal/output.ts';
import { confirmOrYes } from './terminal/values.ts';

/** Adds `admins add`, `admins list` and `admins remove`. */
export function addAdmins(program: Command): void {
  const admins = program.command('admins').description('Add and remove admins, who sign in with passkeys.');
  admins
    .command('add')
    .description('Add an admin and print the link with which they register a passkey.')
    .argument('<name>', 'the name of the admin, as histories show it; 1 to 64 characters')
    .addHelpText(
      'after',
      `
The link works once, for 15 minutes. Passkeys belong to the host of PUBLIC_URL:
a domain name, with https unless it is localhost. An admin who has lost all
passkeys has to be removed and added again.

Example:
  profilectl admins add Grace`,
    )
    .action((name: string, _options: unknown, command: Command) =>
      withContext(command, 'use', ({ deps, actor, json }) => {
        const invitation = addAdmin(deps, name, actor);
        notice(
          `${invitation.name} can register a passkey with this link, once, until ${invitation.expiresAt}. Send it over a channel that only they can read.`,
        );
        if (!deps.config.developerPlatform) {
          notice('DEVELOPER_PLATFORM is off, so this link does not work; unset it and restart the server.');
        }
        if (json) printJson(invitation);
        else print(invitation.address);
      }),
    );
  admins
    .command('list')
    .description('List admins with their states and passkeys.')
    .addHelpText('after', '\nExample:\n  profilectl admins list --json')
    .action((_options: unknown, command: Command) =>
      withContext(command, 'use', ({ deps, json }) => {
        const all = listAdmins(deps);
        if (json) printJson({ admins: all });
        else print(all.length === 0 ? 'No admins.' : adminsText(all, deps.clock.nowMs()));
      }),
    );
  admins
    .command('remove')
    .description('Remove an admin at once, with their passkeys and sessions.')
    .argument('<name>', 'the name of the admin')
    .addHelpText('after', '\nThe name stays in histories.\n\nExample:\n  profilectl admins remove Grace')
    .action((named: string, _options: unknown, command: Command) =>
      withContext(command, 'use', async ({ deps, actor, json, yes }) => {
        const admin = findAdmin(deps.db, named);
        const { name } = admin;
        const held = counted(listPasskeys(deps.db, admin.id).length, 'passkey');
        await confirmOrYes(yes, `Remove admin ${name} with ${held} and all sessions?`);
        const { endedPasskeys } = removeAdmin(deps, admin, actor);
        if (json) printJson({ name, removed: true, endedPasskeys });
        else print(`Removed ${name}.`);
      }),
    );
}

function adminsText(admins: readonly AdminView[], nowMs: number): string {
  const when = (at: string | undefined) => (at === undefined ? 'never' : timeCell(at, nowMs));
  return table(
    ['Name', 'State', 'Passkeys', 'Last used', 'Added'],
    admins.map(({ name, state, addedAt, invitedUntil, passkeys }) => [
      name,
      state === 'invited' ? `invited until ${invitedUntil}` : state,
      passkeys.map((passkey) => passkey.name).join(', '),
      when(
        passkeys
          .flatMap(({ lastUsedAt }) => lastUsedAt ?? [])
          .sort()
          .at(-1),
      ),
      when(addedAt),
    ]),
    { omitted: ['Added', 'Last used', 'Passkeys'], truncated: ['Name', 'Passkeys'] },
  );
}
