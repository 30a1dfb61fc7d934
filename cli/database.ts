import type { Command } from 'commander';
import type { Person } from '../shared/actor.ts';
import type { Config } from '../shared/config/config.ts';
import type { Opened } from '../shared/db/connect.ts';
import { withTables } from '../shared/db/tables.ts';
import type { OpenMode } from '../shared/db-files/open.ts';
import { createDeps, type Deps } from '../shared/deps.ts';
import type { ShownVersion } from '../shared/shown-version.ts';
import { userName } from '../shared/user.ts';
import { configOf } from './configuration.ts';
import { type Globals, globalsOf } from './context.ts';
import { withOpenDatabase } from './open-database.ts';
import { checkIsOnBox } from './remote/box-only.ts';

/** What a command needs to run. */
export type Context = Globals & {
  deps: Deps;
  /** The actor. Its name is read from the operating system when it is needed, because that starts a process. */
  actor: Operator;
};

/** The actor of commands on the box: anyone who can open the database. */
export type Operator = Extract<Person, { kind: 'operator' }>;

/**
 * Opens the database for a command, runs it and closes the database again, as {@link withOpenDatabase} does. Throws what
 * `openDatabase` and the command throw, and `refused` if the command is for the box only and this is not the box.
 */
export async function withDatabase<T>(
  command: Command,
  mode: OpenMode,
  act: (db: Opened, config: Config) => Promise<T> | T,
): Promise<T> {
  const config = configOf(globalsOf(command));
  if (mode === 'use' || mode === 'look') checkIsOnBox(command, config.databasePath);
  return withOpenDatabase(config, mode, (db) => act(db, config));
}

/** Does the same as {@link withDatabase} for commands that need more than the database: {@link Deps} and an actor. */
export async function withContext<T>(
  command: Command,
  mode: OpenMode,
  act: (context: Context) => Promise<T> | T,
): Promise<T> {
  return withDatabase(command, mode, async (db, config) => {
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

/** The same operator, with the version of what they are shown and asked to confirm. The name is still read when needed. */
export function withShownVersion(operator: Operator, shown: ShownVersion): Operator {
  return {
    kind: 'operator',
    get name() {
      return operator.name;
    },
    shown,
  };
}
