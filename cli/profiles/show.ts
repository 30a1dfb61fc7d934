import type { Command } from 'commander';
import type { ExportedProfile } from '../../shared/profiles/export.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { withContext } from '../context.ts';
import { print, printJsonText, table } from '../output.ts';

/** `profiles show`: everything about one profile, private fields too. */
export function addTo(parent: Command): void {
  parent
    .command('show')
    .description('Show a profile with its private fields.')
    .argument('<username>', "the profile's username or an alias of it")
    .addHelpText(
      'after',
      '\nWith --json: the same object as a line of "profiles export".\n\nExample:\n  profilectl profiles show ada',
    )
    .action((name: string, _options: unknown, command: Command) =>
      withContext(command, 'use', async ({ deps, json }) => {
        const { exportProfile } = await import('../../shared/profiles/export.ts');
        printProfile(exportProfile(deps.db, name), json);
      }),
    );
}

/** Prints a profile that is given as a line of an export: for a person, or as it is. */
export function printProfile(line: string, json: boolean): void {
  if (json) printJsonText(line);
  else print(profileText(JSON.parse(line) as ExportedProfile));
}

const LABELS: readonly (readonly [string, (profile: ExportedProfile) => string])[] = [
  ['Username', (p) => p.username],
  ['Aliases', (p) => p.aliases.join(', ') || 'none'],
  ['Display name', (p) => p.displayName],
  ['Id', (p) => String(p.id)],
  ['Auth ID', (p) => p.authId ?? 'none'],
  ['E-mail', (p) => p.email ?? 'none'],
  ['Discord ID', (p) => p.discordID ?? 'none'],
  ['Banned', (p) => (p.banned ? 'yes' : 'no')],
  ['Views', (p) => String(p.viewsCount)],
  ['Followers', (p) => `${p.followersCount}${p.showFollowersCount ? '' : ' (hidden)'}`],
  ['Created', (p) => p.createdAt],
  ['Badges', (p) => p.badges.map(({ name, enabled }) => (enabled ? name : `${name} (off)`)).join(', ') || 'none'],
  ['Assets', (p) => JSON.stringify(p.assets)],
  ['Customize', (p) => JSON.stringify(p.customize)],
  ['Discord', (p) => JSON.stringify(p.discordClean)],
];

function profileText(profile: ExportedProfile): string {
  const width = Math.max(...LABELS.map(([label]) => label.length));
  const facts = LABELS.map(([label, text]) => `${label.padEnd(width)}  ${cleanForTerminal(text(profile))}`).join('\n');
  if (profile.links.length === 0) return `${facts}\n${'Links'.padEnd(width)}  none`;
  const rows = profile.links.map((link) => [link.id, link.name, String(link.clicksCount ?? ''), link.link]);
  return `${facts}\n\n${table(['LINK', 'NAME', 'CLICKS', 'ADDRESS'], rows)}`;
}
