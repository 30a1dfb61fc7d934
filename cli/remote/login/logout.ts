import type { Command } from 'commander';
import { AppError } from '../../../shared/errors.ts';
import { variablesOf } from '../../configuration.ts';
import { globalsOf } from '../../context.ts';
import { notice, print, printJson } from '../../terminal/output.ts';
import { changeLogins, type Login, readLogins } from '../stored-logins.ts';
import { onlyLogin, serverNamed } from '../target.ts';
import { endToken } from './token.ts';

/** Adds `logout`, which revokes the token of a login on its server, and removes the login here. */
export function addTo(command: Command): void {
  command
    .argument('[url]', 'the URL of the server; not needed if you are logged in to only one')
    .addHelpText(
      'after',
      `
The token is revoked on the server and removed here. If the server can't be reached, it is still removed here, and the exit
code is 75: revoke it on the server's page /developers/sessions. A backend's token is only removed here.

Examples:
  profilectl logout
  profilectl logout https://api.example.org`,
    )
    .action(async (argument: string | undefined) => {
      const globals = globalsOf(command);
      const source = variablesOf(globals);
      const url = serverNamed(command, argument, source) ?? onlyLogin();
      const login = readLogins().get(url);
      if (login === undefined) throw new AppError('not_logged_in', `You are not logged in to ${url}.`);
      const isEnded = await endAndRemove(url, login);
      if (globals.json) printJson({ host: url, removed: true, ended: isEnded });
      else print(`Logged out of ${url}.`);
      if (!isEnded)
        notice('The backend\'s token still works; "profilectl tokens remove" on the server itself removes it.');
      if (source.PROFILECTL_TOKEN) notice('Warning: PROFILECTL_TOKEN is still set, and is used for requests.');
    });
}

/**
 * Revokes the token on the server, then removes the login here, even after an error, unless it was replaced in between.
 * Returns false for a backend's token, which still works. Throws the server's error, with what is left to do.
 */
async function endAndRemove(url: string, { token, endsAt }: Login): Promise<boolean> {
  const remove = () =>
    changeLogins((logins) => {
      if (logins.get(url)?.token === token) logins.delete(url);
    });
  let isEnded: boolean;
  try {
    isEnded = await endToken({ url, token });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    await remove();
    const until = endsAt === null ? '' : ` until ${endsAt}`;
    const sentence = `${error.message} The login was removed here, but the token may still work there${until}; revoke it at ${url}/developers/sessions.`;
    throw new AppError(error.code, sentence, { cause: error });
  }
  await remove();
  return isEnded;
}
