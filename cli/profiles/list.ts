import type { Command } from 'commander';
import { type ListedProfile, listProfiles, type ProfileFilter } from '../../shared/profiles/list.ts';
import { withContext } from '../database.ts';
import { notice, print, printJson, table, timeCell } from '../terminal/output.ts';
import { wholeNumber } from '../terminal/values.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 10_000;

type ListOptions = {
  name?: string;
  banned?: boolean;
  withoutEmail?: boolean;
  withKeys?: boolean;
  limit?: string;
  after?: string;
};

/** Adds `profiles list`, which lists profiles by UID, without private fields. */
export function addList(profiles: Command): void {
  profiles
    .command('list')
    .description('List profiles by UID, without private fields.')
    .option('--name <prefix>', 'only those with a username or alias that begins with this')
    .option('--banned', 'only banned ones')
    .option('--without-email', "only those without an e-mail address, who can't request keys")
    .option('--with-keys', 'only those with a key that is pending, Active or suspended')
    .option('--limit <number>', `at most this many, 1 to ${MAX_LIMIT}; default: ${DEFAULT_LIMIT}`)
    .option('--after <uid>', 'only UIDs greater than this, for the next page')
    .addHelpText(
      'after',
      `
A profile is listed if it matches all filters.

Examples:
  profilectl profiles list --name ada
  profilectl profiles list --banned --with-keys
  profilectl profiles list --limit 1000 --after 5000 --json`,
    )
    .action((options: ListOptions, command: Command) =>
      withContext(command, 'use', async (context) => {
        const limit = wholeNumber('--limit', options.limit ?? String(DEFAULT_LIMIT), 1, MAX_LIMIT);
        const after = wholeNumber('--after', options.after ?? '0', 0);
        const { db, clock } = context.deps;
        const found = listProfiles(db, { filter: filterOf(options), after, limit, nowMs: clock.nowMs() });
        if (context.json) return printJson(found);
        print(profilesText(found.profiles, clock.nowMs()));
        if (found.next !== null) notice(`There are more; use --after ${found.next} for the next page.`);
      }),
    );
}

function filterOf(options: ListOptions): ProfileFilter {
  return {
    nameBegins: options.name,
    isBanned: options.banned,
    lacksEmail: options.withoutEmail,
    hasKeys: options.withKeys,
  };
}

function profilesText(profiles: readonly ListedProfile[], nowMs: number): string {
  if (profiles.length === 0) return 'No profiles.';
  const rows = profiles.map(({ id, username, displayName, banned, viewsCount, createdAt }) => [
    String(id),
    username,
    displayName,
    banned ? 'banned' : '',
    String(viewsCount),
    timeCell(createdAt, nowMs),
  ]);
  return table(['UID', 'Username', 'Display name', 'Banned', 'Views', 'Created'], rows, {
    omitted: ['Created', 'Views', 'Display name'],
    truncated: ['Username', 'Display name'],
  });
}
