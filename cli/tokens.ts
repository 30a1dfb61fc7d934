import type { Command } from 'commander';
import { ERASURES_PER_DAY } from '../shared/profiles/import/feed-policy.ts';
import { addToken, findToken, listTokens, removeToken, type TokenView } from '../shared/tokens.ts';
import { withContext } from './context.ts';
import { counted, notice, print, printJson, table, timeCell } from './terminal/output.ts';
import { collect, confirmOrYes, needed } from './terminal/values.ts';

/** Adds `tokens add`, `tokens list` and `tokens remove`. */
export function addTokens(program: Command): void {
  const tokens = program.command('tokens').description('Add and remove tokens of backends.');
  tokens
    .command('add')
    .description('Add a token for a backend and print it, once.')
    .argument('<name>', 'the name of the backend, as histories show it; 1 to 64 characters')
    .option('--right <right>', 'profiles (send and erase profiles) or sign-ins; may be repeated', collect)
    .option('--without-address', "lines sent with it can't change email, authId or banned")
    .addHelpText(
      'after',
      `
A token with the right "profiles" can set e-mail addresses, and so take over any
profile, unless --without-address is given. One with the right "sign-ins" can
sign in as any owner.

Example:
  profilectl tokens add backend --right profiles --without-address`,
    )
    .action((name: string, options: { right?: string[]; withoutAddress?: true }, command: Command) =>
      withContext(command, 'use', ({ deps, actor, json }) => {
        const rights = needed(options.right, '--right');
        const excludesContactFields = options.withoutAddress === true;
        const added = addToken(deps, { name, rights, excludesContactFields }, actor);
        notice(powerText(added));
        if (json) printJson(added);
        else print(added.token);
      }),
    );
  tokens
    .command('list')
    .description('List the tokens of backends with their rights and last use.')
    .addHelpText('after', '\nExample:\n  profilectl tokens list --json')
    .action((_options: unknown, command: Command) =>
      withContext(command, 'use', ({ deps, json }) => {
        const all = listTokens(deps.db);
        if (json) printJson({ tokens: all });
        else print(all.length === 0 ? 'No tokens.' : tokensText(all, deps.clock.nowMs()));
      }),
    );
  tokens
    .command('remove')
    .description('Remove a token of a backend at once, with the sessions that it opened.')
    .argument('<token>', 'the 8 characters that "tokens list" shows, or the name')
    .addHelpText('after', '\nThe name stays in histories.\n\nExample:\n  profilectl tokens remove k7Qm2XaB')
    .action((named: string, _options: unknown, command: Command) =>
      withContext(command, 'use', async ({ deps, actor, json, yes }) => {
        const { identifier, name, lastUsedAt } = findToken(deps.db, named);
        const used = lastUsedAt === null ? 'never used' : `last used ${lastUsedAt}`;
        await confirmOrYes(yes, `Remove the token ${identifier} of ${name}, ${used}, and end its sessions?`);
        const ended = removeToken(deps, identifier, actor);
        if (json) return printJson({ identifier, name, removed: true, endedSessions: ended });
        print(`Removed the token ${identifier} of ${name}.`);
        notice(`Also ended: ${counted(ended, 'session')} opened with it.`);
      }),
    );
}

/** What anyone with the token can do, so that the operator protects it accordingly. */
function powerText({ name, rights, withoutAddress }: TokenView): string {
  const extent = withoutAddress
    ? 'except e-mail addresses, auth IDs and bans'
    : "including e-mail addresses, and so take over any profile (--without-address makes a token that can't)";
  return [
    `This is the token of ${name}. It is shown only once; store it where only the backend can read it.`,
    rights.includes('profiles')
      ? `Anyone who has it can change every profile, ${extent}, and erase ${ERASURES_PER_DAY} profiles a day.`
      : [],
    rights.includes('sign-ins') ? 'Anyone who has it can sign in as the owner of any profile.' : [],
  ]
    .flat()
    .join('\n');
}

function tokensText(tokens: readonly TokenView[], nowMs: number): string {
  return table(
    ['Token', 'Name', 'Rights', 'Last used', 'Added'],
    tokens.map(({ identifier, name, rights, withoutAddress, lastUsedAt, addedAt }) => [
      identifier,
      name,
      `${rights.join(', ')}${withoutAddress ? ' (without address)' : ''}`,
      lastUsedAt === null ? 'never' : timeCell(lastUsedAt, nowMs),
      timeCell(addedAt, nowMs),
    ]),
    { omitted: ['Added', 'Last used', 'Rights'], truncated: ['Name'] },
  );
}
