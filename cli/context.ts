import { spawnSync } from 'node:child_process';
import type { Command } from 'commander';
import type { Person } from '../shared/actor.ts';
import { type Config, checkDatabasePath, readConfig, readEnvironment } from '../shared/config/config.ts';
import type { Opened } from '../shared/db/connect.ts';
import type { OpenMode } from '../shared/db/open.ts';
import type { Deps } from '../shared/deps.ts';
import { notice } from './output.ts';

/** The options that every command takes. */
export type Globals = { json: boolean; yes: boolean; db?: string; envFile?: string };

/** What a command works with. */
export type Context = Globals & {
  deps: Deps;
  /** Who acts. The name is asked of the operating system only when it is read, since that starts a process. */
  actor: Person;
};

/** The global options as given before or after the command's name. */
export function globalsOf(command: Command): Globals {
  const { json = false, yes = false, db, envFile } = command.optsWithGlobals<Partial<Globals>>();
  return { json, yes, ...(db !== undefined && { db }), ...(envFile !== undefined && { envFile }) };
}

/** Reads and checks the environment, with `--env-file` and `--db`. Throws `bad_config`. */
export function configOf(globals: Globals): Config {
  const config = readConfig(readEnvironment(globals.envFile));
  return globals.db === undefined ? config : { ...config, databasePath: checkDatabasePath('--db', globals.db) };
}

/**
 * Opens the database for a command, runs it and closes the database again. Warns on stderr of files that others can
 * read. Throws what `openDatabase` and the command throw.
 */
export async function withDatabase<T>(
  command: Command,
  mode: OpenMode,
  act: (db: Opened, config: Config) => Promise<T> | T,
): Promise<T> {
  const globals = globalsOf(command);
  const config = configOf(globals);
  const { closeDatabase, openDatabase } = await import('../shared/db/open.ts');
  const { looseEnvironmentFiles, looseModes } = await import('../shared/db/loose-modes.ts');
  const onCopied = (copy: string) => {
    notice(`Before its schema is upgraded, the database was copied to ${copy}.`);
  };
  const mustExist = mode === 'serve' && config.databaseMustExist;
  const db = openDatabase(config.databasePath, mode, onCopied, mustExist);
  try {
    const warnings = [...looseEnvironmentFiles(globals.envFile), ...looseModes(config.databasePath)];
    for (const warning of warnings) notice(`Warning: ${warning}`);
    return await act(db, config);
  } finally {
    closeDatabase(db);
  }
}

/** The same with everything that the rules need. */
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

/** Whoever runs this command: the operator, by the name of the operating system's user. */
export function operatorOf(config: Config): Person {
  let name: string | undefined;
  return {
    kind: 'operator',
    get name() {
      name ??= currentUser(config);
      return name;
    },
  };
}

/**
 * The operating system's user, the one behind sudo first. Asked of `id`, since Bun's `userInfo` repeats the variable
 * USER, which is unset in many services and free to say anything.
 */
function currentUser(config: Config): string {
  if (config.sudoUser !== null) return config.sudoUser;
  const named = spawnSync('/usr/bin/id', ['-un'], { encoding: 'utf8' }).stdout?.trim();
  return named || `uid ${process.getuid?.() ?? 'unknown'}`;
}
