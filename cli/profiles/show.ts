import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { exportProfile } from '../../shared/profiles/export.ts';
import { KINDS, type Kind } from '../../shared/profiles/field-kinds.ts';
import { type ExportedProfile, FIELD_LIST, type InLine } from '../../shared/profiles/field-values.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { withContext } from '../database.ts';
import { print, printJsonText, table } from '../terminal/output.ts';
import { wholeNumber } from '../terminal/values.ts';

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

/** Prints a profile, given as a line of an export: formatted for people, or with `--json` as it is. */
export function printProfile(line: string, json: boolean): void {
  if (json) printJsonText(line);
  else print(profileText(JSON.parse(line) as ExportedProfile));
}

const plain = (value: string | number | null) => String(value ?? 'none');
const json = (value: unknown) => JSON.stringify(value);

/** Formats a value of each kind for people. */
const AS_TEXT: { [K in Exclude<Kind, 'links'>]: (value: InLine[K]) => string } = {
  uid: plain,
  name: plain,
  names: (names) => names.join(', ') || 'none',
  authId: plain,
  email: plain,
  text: plain,
  textOrNull: plain,
  badges: (badges) => badges.map(({ name, enabled }) => (enabled ? name : `${name} (off)`)).join(', ') || 'none',
  assets: json,
  openObject: json,
  flag: (flag) => (flag ? 'yes' : 'no'),
  count: plain,
  countOrNull: plain,
  time: plain,
};

// In the order of export lines, except that long fields come last.
const isLong = (kind: Kind) => Number(KINDS[kind].form === 'json');
const SHOWN = FIELD_LIST.filter(({ kind }) => kind !== 'links').toSorted((a, b) => isLong(a.kind) - isLong(b.kind));

function profileText(profile: ExportedProfile): string {
  const width = Math.max(...SHOWN.map(({ label }) => label.length));
  const facts = SHOWN.map(({ name, kind, label }) => {
    const text = (AS_TEXT as Record<string, (value: unknown) => string>)[kind]?.(profile[name]) ?? '';
    return `${label.padEnd(width)}  ${cleanForTerminal(text)}`;
  }).join('\n');
  if (profile.links.length === 0) return `${facts}\n${'Links'.padEnd(width)}  none`;
  const rows = profile.links.map((link) => [link.id, link.name, String(link.clicksCount ?? ''), link.link]);
  return `${facts}\n\n${table(['Link', 'Name', 'Clicks', 'URL'], rows)}`;
}
