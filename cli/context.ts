import type { Command } from 'commander';

/** The options that every command takes. */
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
