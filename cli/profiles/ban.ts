import type { Command } from 'commander';
import { effectsOnKeys } from '../../shared/erasure/erase-profile.ts';
import { changeProfile } from '../../shared/profiles/edit/change.ts';
import { findProfile } from '../../shared/profiles/find.ts';
import { shownProfile } from '../../shared/profiles/profile-version.ts';
import { sendOnce } from '../../shared/upkeep/delivery/deliver.ts';
import { withContext, withShownVersion } from '../database.ts';
import { notice } from '../terminal/output.ts';
import { printProfile } from './show.ts';

/** Adds `profiles ban` and `profiles unban`. */
export function addTo(parent: Command): void {
  parent
    .command('ban')
    .description('Ban a profile: lookups show it as banned, the leaderboard omits it, and its keys are refused.')
    .argument('<username>', "the profile's username or one of its aliases")
    .addHelpText(
      'after',
      `
Running servers refuse its keys within 10 ms, and no new keys can be requested. The keys keep their state and work again
after "profilectl profiles unban"; "profilectl keys revoke" ends one for good. The owner is mailed if a key is Active.

Example:
  profilectl profiles ban ada`,
    )
    .action((username: string, _options: unknown, command: Command) => setBanned(command, username, true));
  parent
    .command('unban')
    .description('Lift the ban on a profile; its keys work again.')
    .argument('<username>', "the profile's username or one of its aliases")
    .addHelpText('after', '\nExample:\n  profilectl profiles unban ada')
    .action((username: string, _options: unknown, command: Command) => setBanned(command, username, false));
}

/** Bans a profile or lifts the ban, tries once to send the mails about it, and prints the profile. */
function setBanned(command: Command, username: string, banned: boolean): Promise<void> {
  return withContext(command, 'use', async ({ deps, actor, json }) => {
    const { id } = findProfile(deps.db, username);
    const by = withShownVersion(actor, shownProfile(deps.db, id));
    const noticeIds: number[] = [];
    const onKeys = effectsOnKeys(actor, (noticeId) => noticeIds.push(noticeId));
    const line = changeProfile(deps, { id, by, decide: () => ({ banned }), onKeys });
    const warning = await sendOnce(deps, { profileId: id }, noticeIds);
    if (warning !== null) notice(`Warning: ${warning}`);
    printProfile(line, json);
  });
}
