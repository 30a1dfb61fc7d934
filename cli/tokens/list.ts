import type { Command } from 'commander';
import { listTokens, type TokenView } from '../../shared/backends/backend-tokens.ts';
import { withAccess } from '../access.ts';
import { print, printJson, table } from '../terminal/output.ts';

/** Adds `tokens list`, which lists backends' tokens. */
export function addTo(parent: Command): void {
  parent
    .command('list')
    .description('List the tokens of backends with their rights and last use.')
    .addHelpText(
      'after',
      "\nThe tokens themselves can't be shown: only their SHA-256 is stored.\n\nExample:\n  profilectl tokens list --json",
    )
    .action((_options: unknown, command: Command) =>
      withAccess(command, ({ access, json }) => {
        const tokens = listTokens(access);
        if (json) printJson({ tokens });
        else print(tokens.length === 0 ? 'No tokens.' : tokensText(tokens));
      }),
    );
}

function tokensText(tokens: readonly TokenView[]): string {
  return table(
    ['Token', 'Name', 'Rights', 'Erasures per day', 'Last used', 'Added'],
    tokens.map(({ identifier, name, rights, withoutAddress, eraseLimit, lastUsedAt, addedAt }) => [
      identifier,
      name,
      `${rights.join(', ')}${withoutAddress ? ' (without address)' : ''}`,
      rights.includes('profiles') ? String(eraseLimit) : '–',
      lastUsedAt ?? 'never',
      addedAt,
    ]),
    { omitted: ['Added', 'Erasures per day', 'Last used', 'Rights'], truncated: ['Name'] },
  );
}
