import type { Command } from 'commander';
import { versionText } from '../../shared/version.ts';
import { writeOutput } from '../terminal/stdout.ts';

/** Adds `version`, which does the same as `--version`. */
export function addTo(command: Command): void {
  command
    .addHelpText('after', '\nExample:\n  profilectl version')
    .action((_options: unknown) => printVersion(command.optsWithGlobals<{ json?: boolean }>().json === true));
}

/** Writes the version to stdout, with the commit if known, as a line or as `{"version":…}`. */
export function printVersion(json: boolean): void {
  const version = versionText();
  writeOutput(`${json ? JSON.stringify({ version }) : version}\n`);
}
