import type { Command } from 'commander';
import { signOwnerOut } from '../../shared/sign-in/end-all.ts';
import { withAccess } from '../access.ts';
import { endedNumbers, endedText } from '../terminal/ended-sign-ins.ts';
import { print, printJson } from '../terminal/output.ts';

/** Adds `profiles sign-out`, which ends all sign-ins of a profile's owner. */
export function addTo(parent: Command): void {
  parent
    .command('sign-out')
    .description("End all sessions and profilectl logins of a profile's owner at once.")
    .argument('<username>', "the profile's username or one of its aliases")
    .addHelpText(
      'after',
      `
Unused sign-in codes stop working too, as do sign-in links from a backend, and the owner is mailed about the next sign-in
from each browser, as if it were new. The profile and its API keys are not changed, and the owner can sign in again.

Example:
  profilectl profiles sign-out ada`,
    )
    .action((name: string, _options: unknown, command: Command) =>
      withAccess(command, async ({ access, json }) => {
        const { id, username, ended } = signOwnerOut(access, name);
        if (json) printJson({ id, username, signedOut: true, ...endedNumbers(ended) });
        else print(`Signed out ${username} (id ${id}): ${endedText(ended)} ended.`);
      }),
    );
}
