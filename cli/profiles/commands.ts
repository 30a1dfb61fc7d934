import type { Command } from 'commander';
import { eraseProfile } from '../../shared/erasure.ts';
import { setBanned } from '../../shared/profiles/apply.ts';
import { exportProfiles } from '../../shared/profiles/export.ts';
import { findProfile, profileRevision, readProfile } from '../../shared/profiles/find.ts';
import { endAllSignIns } from '../../shared/sign-in/sessions.ts';
import { escapeJsonForTerminal } from '../../shared/text.ts';
import { withContext, withShownVersion } from '../context.ts';
import { counted, flushOutput, print, printJson, writeOutput } from '../terminal/output.ts';
import { confirmOrYes, retryIfChanged } from '../terminal/values.ts';
import { addImport } from './import.ts';
import { addList, addShow, printProfile } from './look.ts';

const WHOSE = "the profile's username or one of its aliases";

/** Adds the commands `profiles …`. */
export function addProfiles(program: Command): void {
  const profiles = program.command('profiles').description('Import, export, list, ban and erase profiles.');
  addImport(profiles);
  profiles
    .command('export')
    .description('Write all profiles to stdout as JSON Lines, ordered by id, with private fields.')
    .addHelpText(
      'after',
      `
The lines contain e-mail addresses and auth IDs: keep the file private.

Example:
  (umask 077; profilectl profiles export > profiles.jsonl)`,
    )
    .action((_options: unknown, command: Command) => exportAll(command));
  addList(profiles);
  addShow(profiles);
  profiles
    .command('ban')
    .description('Ban a profile: lookups show it as banned, the leaderboard omits it.')
    .argument('<username>', WHOSE)
    .addHelpText(
      'after',
      `
Its keys are refused within 10 ms, keep their state, and work again after
"profiles unban"; "keys revoke" ends one for good.

Example:
  profilectl profiles ban ada`,
    )
    .action((username: string, _options: unknown, command: Command) => ban(command, username, true));
  profiles
    .command('unban')
    .description('Lift the ban on a profile; its keys work again.')
    .argument('<username>', WHOSE)
    .addHelpText('after', '\nExample:\n  profilectl profiles unban ada')
    .action((username: string, _options: unknown, command: Command) => ban(command, username, false));
  profiles
    .command('erase')
    .description('Erase a profile for good, and revoke its API keys.')
    .argument('<username>', WHOSE)
    .addHelpText(
      'after',
      `
It disappears at once; copies of its text in unused parts of the database file
go with the server's next VACUUM, or "db vacuum". Not erased: backups, databases
kept by "db restore", exports, refused lines, e-mails and logs.

Example:
  profilectl profiles erase ada`,
    )
    .action((username: string, _options: unknown, command: Command) => erase(command, username));
  profiles
    .command('sign-out')
    .description("End all sessions of a profile's owner at once.")
    .argument('<username>', WHOSE)
    .addHelpText(
      'after',
      `
Unused codes and sign-in links stop working too. The owner can sign in again.

Example:
  profilectl profiles sign-out ada`,
    )
    .action((username: string, _options: unknown, command: Command) =>
      withContext(command, 'use', ({ deps, json }) => {
        const { id, username: name } = findProfile(deps.db, username);
        const ended = endAllSignIns(deps, { profileId: id, adminId: null });
        if (json) printJson({ id, username: name, signedOut: true, endedSessions: ended });
        else print(`Signed out ${name} (id ${id}): ${counted(ended, 'session')} ended.`);
      }),
    );
}

function exportAll(command: Command): Promise<void> {
  return withContext(command, 'use', async ({ deps }) => {
    await exportProfiles(deps.db, async (chunk) => {
      writeOutput(escapeJsonForTerminal(chunk));
      await flushOutput();
    });
  });
}

/** Bans a profile or lifts the ban, and prints the profile. */
function ban(command: Command, username: string, banned: boolean): Promise<void> {
  return withContext(command, 'use', async ({ deps, actor, json }) => {
    const { id } = findProfile(deps.db, username);
    const by = withShownVersion(actor, profileRevision(deps.db, id));
    printProfile(setBanned(deps, { id, banned, by, config: deps.config }), json);
  });
}

function erase(command: Command, name: string): Promise<void> {
  return withContext(command, 'use', async ({ deps, actor, yes, json }) => {
    const { id } = findProfile(deps.db, name);
    const erased = await retryIfChanged(!yes, async () => {
      const by = withShownVersion(actor, profileRevision(deps.db, id));
      const { username } = readProfile(deps.db, id);
      await confirmOrYes(yes, `Erase the profile ${username} (id ${id}) for good, and revoke its API keys?`);
      return eraseProfile(deps, id, by);
    });
    if (json) printJson({ ...erased, erased: true });
    else print(`Erased ${erased.username} (id ${erased.id}).`);
  });
}
