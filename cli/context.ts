import type { Command } from 'commander';
import { shellWord } from '../shared/text.ts';

/** The options of every command. */
export type Globals = { json: boolean; yes: boolean; db?: string; envFile?: string };

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
