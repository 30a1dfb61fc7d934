import { Command, CommanderError, Option } from 'commander';
import { outputColumns, writeOutput } from './terminal/stdout.ts';

/** A command's file. `addTo` adds options, help and action to a top-level command, or adds a command to a group. */
type CommandFile = { addTo: (command: Command) => void };

/** Loads a file. `names` are the commands that the file adds to its group, separated by spaces ('' outside groups). */
type Entry = [names: string, load: () => Promise<CommandFile>];

/**
 * The first words of all commands, with their descriptions and files. A file and its imports are loaded only when one of its
 * commands is named. No other file in `cli/` has dynamic imports.
 */
const TREE: Record<string, [about: string, files: Entry[]]> = {
  keys: [
    'Request API keys, decide on requests, and manage keys.',
    [
      ['request', () => import('./keys/request.ts')],
      ['list', () => import('./keys/list.ts')],
      ['show', () => import('./keys/show.ts')],
      ['usage', () => import('./keys/usage.ts')],
      ['approve', () => import('./keys/approve.ts')],
      // The other operations of shared/operations.ts.
      ['*', () => import('./keys/operations.ts')],
    ],
  ],
  admins: [
    'Add and remove admins of the Developer Platform, who sign in with passkeys.',
    [
      ['add', () => import('./admins/add.ts')],
      ['confirm', () => import('./admins/confirm.ts')],
      ['list', () => import('./admins/list.ts')],
      ['invite', () => import('./admins/invite.ts')],
      ['remove', () => import('./admins/remove.ts')],
    ],
  ],
  tokens: [
    'Add and remove tokens of backends that send profiles or sign their users in.',
    [
      ['add', () => import('./tokens/add.ts')],
      ['list', () => import('./tokens/list.ts')],
      ['remove', () => import('./tokens/remove.ts')],
    ],
  ],
  profiles: [
    'Import, export, list, ban and erase profiles.',
    [
      ['import', () => import('./profiles/import.ts')],
      ['export', () => import('./profiles/export.ts')],
      ['list', () => import('./profiles/list.ts')],
      ['show', () => import('./profiles/show.ts')],
      ['ban unban', () => import('./profiles/ban.ts')],
      ['sign-out', () => import('./profiles/sign-out.ts')],
      ['erase', () => import('./profiles/erase.ts')],
    ],
  ],
  db: [
    'Back up, restore, check and vacuum the database.',
    [
      ['backup', () => import('./db/backup.ts')],
      ['restore', () => import('./db/restore.ts')],
      ['check', () => import('./db/check.ts')],
      ['vacuum', () => import('./db/vacuum.ts')],
    ],
  ],
  config: ['Check the configuration.', [['check', () => import('./config/check.ts')]]],
  mail: ['Send a test mail.', [['test', () => import('./mail/test.ts')]]],
  serve: ['Run the HTTP server, and create or migrate the database.', [['', () => import('./service/serve.ts')]]],
  status: [
    'Show the state of the service: server, database, keys, queue, last backup, warnings.',
    [['', () => import('./service/status.ts')]],
  ],
  log: [
    'Show the audit log, newest first: changes to keys, admins and tokens, bans, erasures and restores.',
    [['', () => import('./service/log.ts')]],
  ],
  healthcheck: [
    'Ask the running server whether it is ready; exit code 0 if so, 1 if not.',
    [['', () => import('./service/healthcheck.ts')]],
  ],
  demo: [
    'Try it out: start a server with sample profiles and an approved key, and print a curl command for it.',
    [['', () => import('./service/demo.ts')]],
  ],
  version: ['Print the version and the commit it was built from.', [['', () => import('./help/version.ts')]]],
  help: ['Show the help of a command, or with "environment" all variables.', [['', () => import('./help/help.ts')]]],
};

/** The global flags that take a value. */
const VALUED_FLAGS = ['--db', '--env-file'];

/**
 * Makes the program. `words` are the arguments: only the command that they name is loaded, or a whole group if they name
 * only the group; without `words`, everything. Nothing here ends the process: usage errors, help and version are thrown as
 * `CommanderError`, everything else as `AppError`. `main.ts` turns both into an exit code.
 */
export async function createProgram(words?: readonly string[]): Promise<Command> {
  const program = new Command('profilectl')
    .description('Serve public profiles to other programs, and manage profiles, API keys and the server.')
    .option('-v, --version', 'print the version and the commit it was built from')
    .addOption(new Option('-V').hideHelp())
    .on('option:version', throwVersion)
    .on('option:V', throwVersion)
    .option('--json', 'print results and errors as JSON')
    .option('--yes', 'answer yes to every question, and use defaults for missing values')
    .option('--db <path>', 'the database file, instead of DATABASE_PATH')
    .option('--env-file <path>', 'read variables from a file; the environment takes precedence')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: writeOutput,
      getOutHelpWidth: () => outputColumns() ?? 80,
      getOutHasColors: () => false,
      writeErr: () => {},
    })
    .exitOverride()
    .addHelpText(
      'after',
      `
Exit codes: 0 done, 1 refused or failed, 2 usage, 3 partly done, 75 try again later, 130 cancelled.

Examples:
  profilectl demo
  profilectl profiles import profiles.jsonl
  profilectl keys list --state pending
  profilectl keys approve k7Qm2XaB`,
    );
  for (const [word, [about, files]] of Object.entries(TREE)) {
    const command = program.command(word).description(about);
    if (words?.includes(word) === false) continue;
    const named = files.find(([names]) => names.split(' ').includes(verbAfter(word, words ?? [])));
    const parts = (named === undefined ? files : [named]).map(([, load]) => load());
    for (const { addTo } of await Promise.all(parts)) addTo(command);
  }
  return program;
}

/** The word after the name of a group, skipping flags; empty if there is none. */
function verbAfter(group: string, words: readonly string[]): string {
  const names = words.filter((word, at) => !word.startsWith('-') && !VALUED_FLAGS.includes(words[at - 1] ?? ''));
  return names[names.indexOf(group) + 1] ?? '';
}

function throwVersion(): never {
  throw new CommanderError(0, 'commander.version', '');
}
