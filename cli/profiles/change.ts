import type { Command } from 'commander';
import type { Changes } from '../../shared/profiles/change.ts';
import type { ExportedProfile } from '../../shared/profiles/export.ts';
import { withContext } from '../context.ts';
import { printProfile } from './show.ts';

/** Runs a command that changes one profile, and prints the profile as it is then. */
export function changeOne(
  command: Command,
  username: string,
  decide: (profile: ExportedProfile) => Changes,
): Promise<void> {
  return withContext(command, 'use', async ({ deps, actor, json }) => {
    const { changeProfile } = await import('../../shared/profiles/change.ts');
    printProfile(changeProfile(deps, { username, by: actor, decide }), json);
  });
}
