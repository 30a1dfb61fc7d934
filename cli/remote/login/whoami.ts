import type { Command } from 'commander';
import { remoteToken } from '../../../shared/config/remote.ts';
import { variablesOf } from '../../configuration.ts';
import { globalsOf } from '../../context.ts';
import { print, printJson } from '../../terminal/output.ts';
import { onlyLogin, serverNamed, tokenFor } from '../target.ts';
import { identityText, readIdentity } from './token.ts';

/** Adds `whoami`, which asks a server whose token this machine uses. */
export function addTo(command: Command): void {
  command
    .addHelpText(
      'after',
      `
Asks the server, which also checks the token: the exit code is 4 if it no longer works.

Examples:
  profilectl whoami
  profilectl whoami --host https://api.example.org --json`,
    )
    .action(async () => {
      const globals = globalsOf(command);
      const source = variablesOf(globals);
      const url = serverNamed(command, undefined, source) ?? onlyLogin(remoteToken(source));
      const identity = await readIdentity({ url, token: tokenFor(url, source) });
      if (globals.json) printJson({ host: url, ...identity });
      else {
        const from = source.PROFILECTL_TOKEN ? ', with PROFILECTL_TOKEN' : '';
        print(`${identityText(identity)}, at ${url}${from}`);
      }
    });
}
