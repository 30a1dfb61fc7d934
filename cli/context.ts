import type { Command } from 'commander';
import type { Person } from '../shared/actor.ts';
import { type Config, checkDatabasePath, readConfig } from '../shared/config/config.ts';
import { type Environment, environmentWarnings, readEnvironment } from '../shared/config/environment.ts';
import type { Source } from '../shared/config/variables.ts';
import type { Opened } from '../shared/db/connect.ts';
import type { OpenMode } from '../shared/db/open.ts';
import type { Deps } from '../shared/deps.ts';
import type { Shown } from '../shared/shown.ts';
import { cleanForTerminal } from '../shared/text.ts';
import { userName } from '../shared/user.ts';
import { notice } from './output.ts';

/** The options that every command takes. */
export type Globals = { json: boolean; yes: boolean; db?: string; host?: string; envFile?: string };

/** What a command needs to run. */
export type Context = Globals & {
  deps: Deps;
  /** The actor. Its name is read from the operating system when it is needed, because that starts a process. */
  actor: Operator;
};

/** Whoever can open the database, on the box. */
export type Operator = Extract<Person, { kind: 'operator' }>;

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

/**
 * Opens the database for a command, runs it and closes the database again. Warns on stderr of files that other users
 * can read. Throws what `openDatabase` and the command throw.
 */
export async function withDatabase<T>(
  command: Command,
  mode: OpenMode,
  act: (db: Opened, config: Config) => Promise<T> | T,
): Promise<T> {
  const globals = globalsOf(command);
  const config = configOf(globals);
  const { closeDatabase, openDatabase } = await import('../shared/db/open.ts');
  const { looseModes } = await import('../shared/db/loose-modes.ts');
  const onCopied = (copy: string) => {
    notice(`Before its schema is upgraded, the database was copied to ${copy}.`);
  };
  const mustExist = mode === 'serve' && config.databaseMustExist;
  const db = openDatabase(config.databasePath, mode, onCopied, mustExist);
  try {
    for (const warning of looseModes(config.databasePath)) notice(`Warning: ${warning}`);
    return await act(db, config);
  } finally {
    closeDatabase(db);
  }
}

/** Does the same as {@link withDatabase} for commands that need more than the database: {@link Deps} and an actor. */
export async function withContext<T>(
  command: Command,
  mode: OpenMode,
  act: (context: Context) => Promise<T> | T,
): Promise<T> {
  return withDatabase(command, mode, async (db, config) => {
    const { withTables } = await import('../shared/db/tables.ts');
    const { createDeps } = await import('../shared/deps.ts');
    return act({ ...globalsOf(command), deps: createDeps(withTables(db), config), actor: operatorOf(config) });
  });
}

/** The actor of a command: the operator, named after the user who called sudo, otherwise after the process's user. */
export function operatorOf(config: Config): Operator {
  let name: string | undefined;
  return {
    kind: 'operator',
    get name() {
      name ??= config.sudoUser ?? userName();
      return name;
    },
  };
}

/** The same operator, about to confirm what was shown; the name is still read when it is needed. */
export function havingSeen(operator: Operator, shown: Shown): Operator {
  return {
    kind: 'operator',
    get name() {
      return operator.name;
    },
    shown,
  };
}
