import type { Command } from 'commander';
import { shellWord } from '../shared/text.ts';

/** The options of every command. */
export type Globals = { json: boolean; yes: boolean; db?: string; host?: string; envFile?: string };

/** The global options, which may come before or after the command's name. */
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

/** The command line for a command with these flags, with the `--db` and `--host` of the running command. */
export function commandLine(path: string, flags: readonly string[], { db, host }: Globals): string {
  const target = [...(db === undefined ? [] : ['--db', db]), ...(host === undefined ? [] : ['--host', host])];
  return ['profilectl', path, ...[...flags, ...target].map(shellWord)].join(' ');
}
