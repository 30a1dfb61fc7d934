import type { Command } from 'commander';
import type { Person } from '../shared/actor.ts';
import type { Config } from '../shared/config/config.ts';
import type { Opened } from '../shared/db/connect.ts';
import { withTables } from '../shared/db/tables.ts';
import { looseModes } from '../shared/db-files/loose-modes.ts';
import { closeDatabase, type OpenMode, openDatabase } from '../shared/db-files/open.ts';
import { createDeps, type Deps } from '../shared/deps.ts';
import type { Shown } from '../shared/shown-version.ts';
import { userName } from '../shared/user.ts';
import { configOf } from './configuration.ts';
import { type Globals, globalsOf } from './context.ts';
import { checkIsOnBox } from './remote/command-scope.ts';
import { notice } from './terminal/output.ts';

/** What a command needs to run. */
export type Context = Globals & {
  deps: Deps;
  /** The actor. Its name is read from the operating system when it is needed, because that starts a process. */
  actor: Operator;
};

/** Whoever can open the database, on the box. */
export type Operator = Extract<Person, { kind: 'operator' }>;

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
  const onCopied = (copy: string) => {
    notice(`Before its schema is upgraded, the database was copied to ${copy}.`);
  };
  if (mode === 'use' || mode === 'look') checkIsOnBox(command, config.databasePath);
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
