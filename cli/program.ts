import { Command, CommanderError } from 'commander';
import { addAdmins } from './admins.ts';
import { addConfig } from './config.ts';
import { addDb } from './db.ts';
import { addKeys } from './keys/commands.ts';
import { addProfiles } from './profiles/commands.ts';
import { addHealthcheck } from './service/ask-server.ts';
import { addDemo } from './service/demo.ts';
import { addLog } from './service/log.ts';
import { addServe } from './service/serve.ts';
import { addStatus } from './service/status.ts';
import { outputColumns, writeOutput } from './terminal/output.ts';
import { addTokens } from './tokens.ts';

/**
 * Makes the program. Nothing here ends the process: usage errors, help and version are thrown as `CommanderError`, everything
 * else as `AppError`. `main.ts` turns both into an exit code. If `only` is a command, the others, which take longer to make than
 * to run most commands, are left out.
 */
export function createProgram(only = ''): Command {
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
  for (const [name, add] of Object.entries(COMMANDS)) if (name === only || !Object.hasOwn(COMMANDS, only)) add(program);
  return program;
}

const COMMANDS = {
  keys: addKeys,
  profiles: addProfiles,
  admins: addAdmins,
  tokens: addTokens,
  db: addDb,
  config: addConfig,
  serve: addServe,
  status: addStatus,
  log: addLog,
  healthcheck: addHealthcheck,
  demo: addDemo,
};

const GLOBALS = `
Every command takes --json (print JSON), --yes (answer every question with yes),
--db <path> (instead of DATABASE_PATH), --env-file <path> (a file of variables,
which the environment overrides) and --help; --version stands alone.
Exit codes: 0 done, 1 refused, 2 usage, 3 in part, 75 try again, 130 cancelled.
Example: profilectl keys approve k7Qm2XaB`;
