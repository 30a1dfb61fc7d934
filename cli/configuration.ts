import { type Config, readConfig } from '../shared/config/config.ts';
import { checkDatabasePath } from '../shared/config/database-path.ts';
import { type Environment, readEnvironment, type Source } from '../shared/config/environment.ts';
import { environmentWarnings } from '../shared/config/environment-warnings.ts';
import { cleanForTerminal } from '../shared/text.ts';
import type { Globals } from './context.ts';
import { notice } from './terminal/output.ts';

// Not in context.ts, so that commands that read no variables don't load their schema.

/** Warns on stderr of likely mistakes, such as misspelt variables or a file of variables that other users can read. */
function warnOfEnvironment(environment: Environment): void {
  for (const warning of environmentWarnings(environment)) notice(`Warning: ${cleanForTerminal(warning)}`);
}

/** Returns the unchecked variables, including those of `--env-file`, after {@link warnOfEnvironment}. Throws `bad_config`. */
export function variablesOf({ envFile }: Globals): Source {
  const environment = readEnvironment(envFile);
  warnOfEnvironment(environment);
  return environment.source;
}

/**
 * Reads and checks the variables, `--env-file` and `--db`. Warns on stderr before it checks, because a misspelt variable may
 * explain why another one is missing. Throws `bad_config`.
 */
export function configOf(globals: Globals): Config {
  const config = readConfig(variablesOf(globals));
  return globals.db === undefined ? config : { ...config, databasePath: checkDatabasePath('--db', globals.db) };
}
