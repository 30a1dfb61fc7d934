import { type Config, readConfig } from '../shared/config/config.ts';
import { readEnvironment } from '../shared/config/environment.ts';
import { checkDatabasePath } from '../shared/config/values.ts';
import { looseMode } from '../shared/file-mode.ts';
import { cleanForTerminal } from '../shared/text.ts';
import type { Globals } from './context.ts';
import { notice } from './terminal/output.ts';

/** Reads and checks the variables, `--env-file` and `--db`; warns of a file that others may read. Throws `bad_config`. */
export function configOf({ envFile, db }: Globals): Config {
  const { source, file } = readEnvironment({ envFile, db });
  const warning = file === null ? null : looseMode(file);
  if (warning !== null) notice(`Warning: ${cleanForTerminal(warning)}`);
  const config = readConfig(source);
  return db === undefined ? config : { ...config, databasePath: checkDatabasePath('--db', db) };
}
