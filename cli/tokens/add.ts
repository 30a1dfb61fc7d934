import type { Command } from 'commander';
import { addToken, ERASE_LIMIT } from '../../shared/backends/backend-tokens.ts';
import { withAccess } from '../access.ts';
import { notice, print, printJson } from '../terminal/output.ts';
import { needed, wholeNumber } from '../terminal/values.ts';

type Options = { right?: string[]; withoutAddress?: boolean; eraseLimit: number };

/** Adds `tokens add`, which adds a token for a backend and prints it, once. */
export function addTo(parent: Command): void {
  parent
    .command('add')
    .description('Add a token for a backend and print it, once.')
    .argument('<name>', 'the name of the backend, as histories show it; 1 to 64 characters')
    .option('--right <right...>', 'profiles (send and erase profiles), sign-ins (sign users in) or both')
    .option('--without-address', "lines sent with it can't change email, authId or banned, or erase banned profiles")
    .option('--erase-limit <n>', 'the number of profiles it may erase per day (UTC)', readLimit, ERASE_LIMIT.default)
    .addHelpText(
      'after',
      `
The token is the only line on stdout. Only its SHA-256 is stored: if you lose the token, add another one. At most two tokens
may share a name, so that you can replace one: add a new token, configure the backend to use it, then remove the old one.

Anyone who can set a profile's e-mail address can become its owner, because sign-in codes and secrets of keys are mailed
there. A token with the "profiles" right can do that, unless --without-address is given. A token with the "sign-ins" right
can sign in as any owner.

Examples:
  profilectl tokens add backend --right profiles --without-address
  profilectl tokens add backend --right profiles --right sign-ins --erase-limit 50
  umask 077; profilectl tokens add backend --right profiles > /etc/backend/profile-lookup-token`,
    )
    .action((name: string, options: Options, command: Command) =>
      withAccess(command, ({ access, actor, json }) => {
        const rights = needed(options.right, '--right');
        const excludesContactFields = options.withoutAddress === true;
        const added = addToken(access, { name, rights, excludesContactFields, eraseLimit: options.eraseLimit }, actor);
        notice(powerText(added));
        if (json) printJson(added);
        else print(added.token);
      }),
    );
}

const readLimit = (text: string) => wholeNumber('--erase-limit', text, 0, ERASE_LIMIT.max);

/** What anyone with the token can do, so that the operator protects it accordingly. */
function powerText(added: { name: string; rights: string[]; withoutAddress: boolean; eraseLimit: number }): string {
  const { name, rights, withoutAddress, eraseLimit } = added;
  const lines = [`This is the token of ${name}. It is shown only once; store it where only the backend can read it.`];
  if (rights.includes('profiles')) {
    const extent = withoutAddress
      ? 'except e-mail addresses, auth IDs and bans'
      : "including e-mail addresses, and so take over any profile (--without-address makes a token that can't)";
    lines.push(`Anyone who has it can change every profile, ${extent}, and erase ${eraseLimit} profiles a day.`);
  }
  if (rights.includes('sign-ins')) {
    lines.push('Anyone who has it can sign in as the owner of any profile.');
  }
  return lines.join('\n');
}
