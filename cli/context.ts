import type { Command } from 'commander';
import { type Config, checkDatabasePath, readConfig } from '../shared/config/config.ts';
import { type Environment, environmentWarnings, readEnvironment } from '../shared/config/environment.ts';
import type { Source } from '../shared/config/variables.ts';
import { cleanForTerminal } from '../shared/text.ts';
import { notice } from './output.ts';

/** The options that every command takes. */
export type Globals = { json: boolean; yes: boolean; db?: string; host?: string; envFile?: string };

/** The global options, which may stand before or after the command's name. */
export function globalsOf(command: Command): Globals {
  const { json = false, yes = false, ...named } = command.optsWithGlobals<Partial<Globals>>();
  const { db, host, envFile } = named;
  return {
    json,
    yes,
    ...(db !== undefined && { db }),
    ...(host !== undefined && { host }),
    ...(envFile !== undefined && { envFile }),
  };
}

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
