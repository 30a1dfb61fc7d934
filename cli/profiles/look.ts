import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { exportProfile } from '../../shared/profiles/export.ts';
import { FIELDS, type FieldName, type Profile } from '../../shared/profiles/fields.ts';
import { type ListedProfile, listProfiles } from '../../shared/profiles/list.ts';
import { textOf } from '../../shared/profiles/record.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { withContext } from '../context.ts';
import { notice, print, printJson, printJsonText, table, timeCell } from '../terminal/output.ts';
import { wholeNumber } from '../terminal/values.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 10_000;

type ListOptions = {
  name?: string;
  banned?: boolean;
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
    .option('--limit <number>', `at most this many, 1 to ${MAX_LIMIT}; default: ${DEFAULT_LIMIT}`)
    .option('--after <uid>', 'only UIDs greater than this, for the next page')
    .addHelpText(
      'after',
      `
Examples:
  profilectl profiles list --name ada
  profilectl profiles list --banned
  profilectl profiles list --limit 1000 --after 5000 --json`,
    )
    .action((options: ListOptions, command: Command) =>
      withContext(command, 'use', async (context) => {
        const limit = wholeNumber('--limit', options.limit ?? String(DEFAULT_LIMIT), 1, MAX_LIMIT);
        const after = wholeNumber('--after', options.after ?? '0', 0);
        const { db, clock } = context.deps;
        const found = listProfiles(db, { nameBegins: options.name, isBanned: options.banned, after, limit });
        if (context.json) return printJson(found);
        print(profilesText(found.profiles, clock.nowMs()));
        if (found.next !== null) notice(`There are more; use --after ${found.next} for the next page.`);
      }),
    );
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

/** Adds `profiles show`, which shows a profile with its private fields. */
export function addShow(profiles: Command): void {
  profiles
    .command('show')
    .description('Show a profile with its private fields.')
    .argument('[username]', "the profile's username or one of its aliases")
    .option('--uid <uid>', 'the UID, instead of a name')
    .addHelpText(
      'after',
      `
With --json, prints the same line as "profiles export".

Examples:
  profilectl profiles show ada
  profilectl profiles show --uid 7`,
    )
    .action((username: string | undefined, { uid }: { uid?: string }, command: Command) => {
      const named = profileNamed(username, uid);
      return withContext(command, 'use', async ({ deps, json }) => {
        printProfile(exportProfile(deps.db, named), json);
      });
    });
}

function profileNamed(username: string | undefined, uid: string | undefined): { username: string } | { uid: number } {
  if (username !== undefined && uid !== undefined) throw new AppError('usage', 'Give a username or --uid, not both.');
  if (username !== undefined) return { username };
  if (uid === undefined) throw new AppError('usage', 'Give a username or --uid <uid>.');
  return { uid: wholeNumber('--uid', uid, 1) };
}

/** Prints a profile: for people, or with `--json` as a line of an export. */
export function printProfile(profile: Profile, json: boolean): void {
  if (json) printJsonText(textOf(profile));
  else print(profileText(profile));
}

/** The value of a field, as shown to people. */
function valueText(field: FieldName, profile: Profile): string {
  if (field === 'aliases') return profile.aliases.join(', ') || 'none';
  if (field === 'badges') {
    return profile.badges.map(({ name, enabled }) => (enabled ? name : `${name} (off)`)).join(', ') || 'none';
  }
  const value = profile[field];
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? 'none');
}

// In the order of export lines, except that long fields come last.
const LONG: readonly FieldName[] = ['badges', 'assets', 'customize', 'discordClean'];
const SHORT = (Object.keys(FIELDS) as FieldName[]).filter((field) => field !== 'links' && !LONG.includes(field));

function profileText(profile: Profile): string {
  const shown = [...SHORT, ...LONG];
  const width = Math.max(...shown.map((field) => FIELDS[field].label.length));
  const facts = shown
    .map((field) => `${FIELDS[field].label.padEnd(width)}  ${cleanForTerminal(valueText(field, profile))}`)
    .join('\n');
  if (profile.links.length === 0) return `${facts}\n${'Links'.padEnd(width)}  none`;
  const rows = profile.links.map((link) => [link.id, link.name, String(link.clicksCount ?? ''), link.link]);
  return `${facts}\n\n${table(['Link', 'Name', 'Clicks', 'URL'], rows)}`;
}
