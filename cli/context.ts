import type { Command } from 'commander';
import { type Person, userName } from '../shared/actor.ts';
import { type Config, readConfig } from '../shared/config/config.ts';
import { readEnvironment } from '../shared/config/environment.ts';
import { looseMode, looseModes } from '../shared/config/files.ts';
import { checkDatabasePath } from '../shared/config/values.ts';
import type { Db } from '../shared/db/connect.ts';
import { sqliteFault } from '../shared/db/faults.ts';
import { createDeps, type Deps } from '../shared/deps.ts';
import { type OpenMode, openDatabase } from '../shared/files/open.ts';
import { cleanForTerminal, shellWord } from '../shared/text.ts';
import { notice } from './terminal/output.ts';

/** The options of every command. */
type Globals = { json: boolean; yes: boolean; db?: string; envFile?: string };

/** The global options, which may come before or after the command's name. */
export function globalsOf(command: Command): Globals {
  const { json = false, yes = false, db, envFile } = command.optsWithGlobals<Partial<Globals>>();
  return { json, yes, ...(db !== undefined && { db }), ...(envFile !== undefined && { envFile }) };
}

/** The command line for a command with these flags, with the `--db` and `--env-file` of the running command. */
export function commandLine(path: string, flags: readonly string[], { db, envFile }: Globals): string {
  const own = { '--db': db, '--env-file': envFile };
  const given = Object.entries(own).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
  return ['profilectl', path, ...[...flags, ...given].map(shellWord)].join(' ');
}

/** Reads and checks the variables, `--env-file` and `--db`; warns of a file that others may read. Throws `bad_config`. */
export function configOf({ envFile, db }: Globals): Config {
  const { source, file } = readEnvironment({ envFile, db });
  const warning = file === null ? null : looseMode(file);
  if (warning !== null) notice(`Warning: ${cleanForTerminal(warning)}`);
  const config = readConfig(source);
  return db === undefined ? config : { ...config, databasePath: checkDatabasePath(db) };
}

/**
 * Opens the configured database, runs `act` with it and closes it again. Prints to stderr where it was copied to before an
 * upgrade, and warns of files that other users can read. Throws what `openDatabase` and `act` throw.
 */
export async function withOpenDatabase<T>(config: Config, mode: OpenMode, act: (db: Db) => Promise<T> | T): Promise<T> {
  const onCopied = (copy: string) => notice(`The database was copied to ${copy} before its schema is upgraded.`);
  const mustExist = mode === 'serve' && config.databaseMustExist;
  const db = openDatabase(config.databasePath, mode, onCopied, mustExist);
  try {
    for (const warning of looseModes(config.databasePath)) notice(`Warning: ${warning}`);
    return await act(db);
  } catch (error) {
    throw sqliteFault(config.databasePath, error) ?? error;
  } finally {
    db.$client.close();
  }
}

/** The context of commands that use the database. */
export type Context = Globals & {
  deps: Deps;
  /** Its name is read from the operating system only when it is needed, because that starts a process. */
  actor: Operator;
};

/** The actor of commands on the server itself: anyone who can open the database. */
type Operator = Extract<Person, { kind: 'operator' }>;

/**
 * Runs a command with an open database, as {@link withOpenDatabase} does. Throws what `openDatabase` and the command throw.
 */
export async function withDatabase<T>(
  command: Command,
  mode: OpenMode,
  act: (db: Db, config: Config) => Promise<T> | T,
): Promise<T> {
  const config = configOf(globalsOf(command));
  return withOpenDatabase(config, mode, (db) => act(db, config));
}

/** Like {@link withDatabase}, for commands that also need {@link Deps} and an actor. */
export async function withContext<T>(
  command: Command,
  mode: OpenMode,
  act: (context: Context) => Promise<T> | T,
): Promise<T> {
  return withDatabase(command, mode, (db, config) =>
    act({ ...globalsOf(command), deps: createDeps(db, config), actor: operatorOf(config) }),
  );
}

/** The actor of a command: the operator, named after the user who called sudo, or else the user of the process. */
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

/** The same operator, with the revision of what they are asked to confirm. The name stays lazy. */
export function withShownVersion(operator: Operator, shown: string): Operator {
  return {
    kind: 'operator',
    get name() {
      return operator.name;
    },
    shown,
  };
}
