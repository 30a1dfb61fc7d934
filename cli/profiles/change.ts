import type { Command } from 'commander';
import type { ExportedProfile } from '../../shared/profiles/field-values.ts';
import type { Changes } from '../../shared/profiles/write/change.ts';
import { withContext } from '../context.ts';
import { printProfile } from './show.ts';

/** Runs a command that changes one profile, and prints the changed profile. */
export function changeOne(
  command: Command,
  username: string,
  decide: (profile: ExportedProfile) => Changes,
): Promise<void> {
  return withContext(command, 'use', async ({ deps, actor, json }) => {
    const { effectsOnKeys } = await import('../../shared/erasure/erase-profile.ts');
    const { changeProfile } = await import('../../shared/profiles/write/change.ts');
    printProfile(changeProfile(deps, { username, decide, onKeys: effectsOnKeys(actor) }), json);
  });
}
