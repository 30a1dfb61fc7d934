import type { Command } from 'commander';
import type { Person } from '../shared/actor.ts';
import type { Config } from '../shared/config/config.ts';
import type { Opened } from '../shared/db/connect.ts';
import { withTables } from '../shared/db/tables.ts';
import { createDeps, type Deps } from '../shared/deps.ts';
import type { OpenMode } from '../shared/files/open.ts';
import { userName } from '../shared/user.ts';
import { configOf } from './configuration.ts';
import { type Globals, globalsOf } from './context.ts';
import { withOpenDatabase } from './open-database.ts';

/** The context of commands that use the database. */
export type Context = Globals & {
  deps: Deps;
  /** Its name is read from the operating system only when it is needed, because that starts a process. */
  actor: Operator;
};

/** The actor of commands on the server itself: anyone who can open the database. */
export type Operator = Extract<Person, { kind: 'operator' }>;

/**
 * Runs a command with an open database, as {@link withOpenDatabase} does. Throws what `openDatabase` and the command throw.
 */
export async function withDatabase<T>(
  command: Command,
  mode: OpenMode,
  act: (db: Opened, config: Config) => Promise<T> | T,
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
  return withDatabase(command, mode, async (db, config) => {
    return act({ ...globalsOf(command), deps: createDeps(withTables(db), config), actor: operatorOf(config) });
  });
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
