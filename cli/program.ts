import { Command, CommanderError } from 'commander';
import { outputColumns, writeOutput } from './terminal/output.ts';

/**
 * Makes the program. Nothing here ends the process: usage errors, help and version are thrown as `CommanderError`, everything
 * else as `AppError`. `main.ts` turns both into an exit code. If `only` is a command, the code of the others is not loaded, which
 * would take longer than most commands.
 */
export async function createProgram(only = ''): Promise<Command> {
  const program = new Command('profilectl')
    .description('Serve public profiles to programs; manage profiles, keys and the server.')
    .option('-v, --version', 'print the version and the commit it was built from')
    .on('option:version', () => {
      throw new CommanderError(0, 'commander.version', '');
    })
    .option('--json', 'print results and errors as JSON')
    .option('--yes', 'answer yes to every question, and use defaults for missing values')
    .option('--db <path>', 'the database file, instead of DATABASE_PATH')
    .option('--env-file <path>', 'read variables from a file; the environment wins')
    .configureOutput({
      writeOut: writeOutput,
      getOutHelpWidth: () => outputColumns() || 80,
      getOutHasColors: () => false,
      writeErr: () => {},
    })
    .configureHelp({
      // The global options are told in a few lines: a help should fit on a screen.
      visibleOptions: (command) => (command.parent === null ? [] : command.options.filter(({ hidden }) => !hidden)),
      visibleCommands: (command) => [...command.commands],
      subcommandTerm: (command) => command.name(),
    })
    .helpCommand(false)
    .showSuggestionAfterError(false)
    .exitOverride()
    .addHelpText('after', GLOBALS)
    .addHelpText('afterAll', ({ command }) =>
      command.parent === null ? '' : '\nAlso: --json, --yes, --db <path>, --env-file <path>, --help.',
    );
  for (const [name, load] of Object.entries(COMMANDS)) {
    if (name !== only && Object.hasOwn(COMMANDS, only)) continue;
    const add = await load();
    add(program);
  }
  return program;
}

/** Loads the code of each command. */
const COMMANDS = {
  keys: async () => (await import('./keys/commands.ts')).addKeys,
  profiles: async () => (await import('./profiles/commands.ts')).addProfiles,
  admins: async () => (await import('./admins.ts')).addAdmins,
  tokens: async () => (await import('./tokens.ts')).addTokens,
  db: async () => (await import('./db.ts')).addDb,
  config: async () => (await import('./config.ts')).addConfig,
  serve: async () => (await import('./service/serve.ts')).addServe,
  status: async () => (await import('./service/status.ts')).addStatus,
  log: async () => (await import('./service/log.ts')).addLog,
  healthcheck: async () => (await import('./service/ask-server.ts')).addHealthcheck,
  demo: async () => (await import('./service/demo.ts')).addDemo,
};

const GLOBALS = `
Every command takes --json (print JSON), --yes (answer every question with yes),
--db <path> (instead of DATABASE_PATH), --env-file <path> (a file of variables,
which the environment overrides) and --help; --version stands alone.
Exit codes: 0 done, 1 refused, 2 usage, 3 in part, 75 try again, 130 cancelled.
Example: profilectl keys approve k7Qm2XaB`;
