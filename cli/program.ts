import { Command, CommanderError, Option } from 'commander';
import { outputColumns, writeOutput } from './stdout.ts';

/** A file of a command. `addTo` adds options, help and action to a command, or adds one more command to a group. */
type Part = { addTo: (command: Command) => void };

/** The first words of all commands: their descriptions and their files. The files are loaded when the word is typed. */
const TREE: Record<string, [about: string, load: () => Promise<Part>[]]> = {
  keys: [
    'Request, decide on and look at API keys.',
    () => [
      import('./keys/request.ts'),
      import('./keys/list.ts'),
      import('./keys/show.ts'),
      import('./keys/usage.ts'),
      import('./keys/edit.ts'),
      import('./keys/withdraw.ts'),
      import('./keys/approve.ts'),
      import('./keys/reject.ts'),
      import('./keys/change.ts'),
      import('./keys/revoke.ts'),
      import('./keys/check.ts'),
    ],
  ],
  admins: [
    'Add and end admins of the Developer Platform, who sign in with passkeys.',
    () => [
      import('./admins/add.ts'),
      import('./admins/confirm.ts'),
      import('./admins/list.ts'),
      import('./admins/invite.ts'),
      import('./admins/remove.ts'),
    ],
  ],
  tokens: [
    'Add and end tokens of backends, which send profiles and sign their users in.',
    () => [import('./tokens/add.ts'), import('./tokens/list.ts'), import('./tokens/remove.ts')],
  ],
  profiles: [
    'Bring profiles in and out, list, change and erase them.',
    () => [
      import('./profiles/import.ts'),
      import('./profiles/export.ts'),
      import('./profiles/list.ts'),
      import('./profiles/show.ts'),
      import('./profiles/set.ts'),
      import('./profiles/names.ts'),
      import('./profiles/links.ts'),
      import('./profiles/ban.ts'),
      import('./profiles/sign-out.ts'),
      import('./profiles/erase.ts'),
    ],
  ],
  db: [
    'Back up, restore, check and vacuum the database.',
    () => [import('./db/backup.ts'), import('./db/restore.ts'), import('./db/check.ts'), import('./db/vacuum.ts')],
  ],
  config: ['Look at the configuration.', () => [import('./config/check.ts')]],
  mail: ['Send a test mail.', () => [import('./mail/test.ts')]],
  serve: ['Run the HTTP server; creates and migrates the database.', () => [import('./serve.ts')]],
  status: [
    'Show how the service is: server, database, keys, queue, last backup, warnings.',
    () => [import('./status.ts')],
  ],
  healthcheck: ['Ask the running server whether it is ready: 0 if so, 1 if not.', () => [import('./healthcheck.ts')]],
  demo: [
    'Try it out: sample profiles, an approved key, a running server and a curl line for it.',
    () => [import('./demo.ts')],
  ],
  login: ['Log in at a server elsewhere, and store the token for commands that ask it.', () => [import('./login.ts')]],
  logout: ['Log out: end a stored token here and on its server.', () => [import('./logout.ts')]],
  whoami: ['Show who you are at a server, and until when.', () => [import('./whoami.ts')]],
  completion: [
    'Print a script that makes your shell complete commands, flags and identifiers.',
    () => [import('./completion.ts')],
  ],
  version: ['Print the version and the commit that it was made of.', () => [import('./version.ts')]],
  help: ['Show how a command is used, or with "environment" the variables.', () => [import('./help.ts')]],
};

/**
 * Makes the program. Only the commands that the words name are loaded; without words all are. Nothing here ends the process:
 * usage errors, help and version are thrown as `CommanderError`, everything else as `AppError`. `main.ts` turns both into an
 * exit code.
 */
export async function createProgram(words: readonly string[] = Object.keys(TREE)): Promise<Command> {
  const program = new Command('profilectl')
    .description('Opens public profiles to other programs: keys, profiles, and the server that answers.')
    .option('-v, --version', 'print the version and the commit that it was made of')
    .addOption(new Option('-V').hideHelp())
    .on('option:version', throwVersionWish)
    .on('option:V', throwVersionWish)
    .option('--json', 'print results and errors as JSON')
    .option('--yes', 'take defaults and ask nothing')
    .option('--db <path>', 'the database file, instead of DATABASE_PATH')
    .option('--host <url>', 'the server to ask, instead of a database here')
    .option('--env-file <path>', 'read variables from a file; the environment wins')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: writeOutput,
      getOutHelpWidth: () => outputColumns() ?? 80,
      getOutHasColors: () => false,
      writeErr: () => {},
    })
    .exitOverride()
    .hook('preAction', (_program, command) => checkNamed(command))
    .addHelpText(
      'after',
      `
Exit codes: 0 done, 1 refused or failed, 2 usage, 3 done in part, 4 not logged in, 75 try again later, 130 cancelled.

Examples:
  profilectl demo
  profilectl profiles import profiles.jsonl
  profilectl keys list --state pending
  profilectl keys approve k7Qm2XaB`,
    );
  for (const [word, [about, load]] of Object.entries(TREE)) {
    const command = program.command(word).description(about);
    if (!words.includes(word)) continue;
    for (const { addTo } of await Promise.all(load())) addTo(command);
  }
  return program;
}

/** Refuses a `--db` or `--host` that the command has no use for. */
async function checkNamed(command: Command): Promise<void> {
  const { db, host } = command.optsWithGlobals<{ db?: string; host?: string }>();
  if (db !== undefined || host !== undefined) (await import('./remote/place.ts')).checkPlace(command);
}

function throwVersionWish(): never {
  throw new CommanderError(0, 'commander.version', '');
}
