import { type Config, readConfig } from '../shared/config/config.ts';
import { checkDatabasePath } from '../shared/config/database-path.ts';
import { type Environment, readEnvironment, type Source } from '../shared/config/environment.ts';
import { environmentWarnings } from '../shared/config/environment-warnings.ts';
import { cleanForTerminal } from '../shared/text.ts';
import type { Globals } from './context.ts';
import { notice } from './terminal/output.ts';

// Not in context.ts, because commands that read no variable need no schema of them.

/** Warns on stderr of what may not be as the operator thinks, such as variables that are probably mistyped. */
export function warnOfEnvironment(environment: Environment): void {
  for (const warning of environmentWarnings(environment)) notice(`Warning: ${cleanForTerminal(warning)}`);
}

/** The variables, with those of `--env-file`, unchecked, after {@link warnOfEnvironment}. Throws `bad_config`. */
export function variablesOf({ envFile }: Globals): Source {
  const environment = readEnvironment(envFile);
  warnOfEnvironment(environment);
  return environment.source;
}

/**
 * Reads and checks the environment, with `--env-file` and `--db`. Before it throws, it warns on stderr of variables that
 * are probably mistyped, because that may be why another one is missing. Throws `bad_config`.
 */
export function configOf(globals: Globals): Config {
  const config = readConfig(variablesOf(globals));
  return globals.db === undefined ? config : { ...config, databasePath: checkDatabasePath('--db', globals.db) };
}
