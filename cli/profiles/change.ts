import type { Command } from 'commander';
import { effectsOnKeys } from '../../shared/erasure/erase-profile.ts';
import { changeProfile, type Decide } from '../../shared/profiles/edit/change.ts';
import { findProfile } from '../../shared/profiles/find.ts';
import { shownProfile } from '../../shared/profiles/profile-version.ts';
import { sendOnce } from '../../shared/upkeep/delivery/deliver.ts';
import { withContext, withShownVersion } from '../database.ts';
import { notice } from '../terminal/output.ts';
import { printProfile } from './show.ts';

/** Changes one profile, tries once to send the mails about the change, and prints the profile. */
export function changeOne(command: Command, username: string, decide: Decide): Promise<void> {
  return changeOneBy(command, username, () => decide);
}

/** Like {@link changeOne}, for a change that is read after the profile was looked up, such as from stdin. */
export function changeOneBy(command: Command, username: string, read: () => Decide | Promise<Decide>): Promise<void> {
  return withContext(command, 'use', async ({ deps, actor, json }) => {
    const { id } = findProfile(deps.db, username);
    const by = withShownVersion(actor, shownProfile(deps.db, id));
    const decide = await read();
    const noticeIds: number[] = [];
    const onKeys = effectsOnKeys(actor, (noticeId) => noticeIds.push(noticeId));
    const line = changeProfile(deps, { id, by, decide, onKeys });
    const warning = await sendOnce(deps, { profileId: id }, noticeIds);
    if (warning !== null) notice(`Warning: ${warning}`);
    printProfile(line, json);
  });
}
