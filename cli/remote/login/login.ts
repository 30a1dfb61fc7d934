import type { Command } from 'commander';
import type { Source } from '../../../shared/config/environment.ts';
import { isToken } from '../../../shared/config/network.ts';
import { AppError } from '../../../shared/errors.ts';
import { variablesOf } from '../../configuration.ts';
import { type Globals, globalsOf } from '../../context.ts';
import { canAsk, notice, print, printJson } from '../../terminal/output.ts';
import { readSecret } from '../../terminal/read-input.ts';
import { hasBrowser } from '../browser.ts';
import { changeLogins, loginsPath, readLogins } from '../stored-logins.ts';
import { type Host, serverNamed } from '../target.ts';
import { getTokenByBrowser, getTokenByCode } from './login-flow.ts';
import { expectServer, identityText, readIdentity, tryEndToken } from './token.ts';

type Options = { browser: boolean; withToken?: boolean };

/** Adds `login`, which gets a token from a server and stores it for the commands that use that server. */
export function addTo(command: Command): void {
  command
    .argument('[url]', 'the address of the server, such as https://api.example.org; default: --host or PROFILECTL_HOST')
    .option('--no-browser', "don't open a browser; print a URL, and ask for the code that its page shows")
    .option('--with-token', 'read a token from stdin, or from a hidden prompt')
    .addHelpText(
      'after',
      `
The browser opens a page of the server, where a signed-in owner or admin allows the login, and then returns to an address
of this machine. Over SSH, without a display, or with --no-browser the page shows a short code to type here. A token
expires after 30 days without use and after 90 days in any case, an admin's after 12 hours. --with-token also accepts a
backend's token.

The token is stored in $XDG_CONFIG_HOME/profilectl/hosts.json (in ~/.config if that is unset), with mode 0600: anyone who
can read the file can do what you can. PROFILECTL_TOKEN, if set, is used instead.

Examples:
  profilectl login https://api.example.org
  profilectl login https://api.example.org --no-browser
  profilectl login https://api.example.org --with-token < token.txt`,
    )
    .action(async (argument: string | undefined, options: Options) => {
      const globals = globalsOf(command);
      const source = variablesOf(globals);
      const url = serverNamed(command, argument, source);
      if (url === null) {
        throw new AppError('usage', 'Name the server: profilectl login https://api.example.org');
      }
      // Checked first, so that no token is created that can't be stored.
      readLogins();
      if (options.withToken === true) return storeLogin({ url, token: await readToken() }, globals, source);
      const host = { url, token: await getToken(url, options.browser) };
      try {
        await storeLogin(host, globals, source);
      } catch (error) {
        // Nothing else has this token, so it would be lost.
        await tryEndToken(host);
        throw error;
      }
    });
}

/** Gets a token through the browser or by a typed code. Throws `usage` if neither is possible. */
async function getToken(url: string, mayOpen: boolean): Promise<string> {
  const isByBrowser = mayOpen && hasBrowser();
  if (!isByBrowser && !canAsk()) throw noPortal(url);
  await expectServer(url);
  const token = isByBrowser ? await getTokenByBrowser(url) : null;
  if (token !== null) return token;
  if (!canAsk()) throw noPortal(url);
  return getTokenByCode(url);
}

function noPortal(url: string): AppError {
  return new AppError(
    'usage',
    `There is neither a browser nor a terminal to log in with; "profilectl login ${url} --with-token" reads a token from stdin, or set PROFILECTL_TOKEN.`,
  );
}

async function readToken(): Promise<string> {
  const token = await readSecret('Token');
  if (isToken(token)) return token;
  throw new AppError('usage', `Standard input has ${token === '' ? 'no token' : 'no valid token'}.`);
}

/** Stores a token, after asking the server whose it is. The token that it replaces is ended on the server. */
async function storeLogin(host: Host, globals: Globals, source: Source): Promise<void> {
  const { url, token } = host;
  const identity = await readIdentity(host);
  let former: string | undefined;
  await changeLogins((logins) => {
    former = logins.get(url)?.token;
    logins.set(url, { token, endsAt: identity.endsAt });
  });
  const file = loginsPath();
  if (globals.json) printJson({ host: url, ...identity, file });
  else print(`Logged in to ${url} as ${identityText(identity)}.\nThe token is stored in ${file}, mode 0600.`);
  if (source.PROFILECTL_TOKEN) notice('Warning: PROFILECTL_TOKEN is set, and is used instead of the stored token.');
  if (former !== undefined && former !== token) await tryEndToken({ url, token: former });
}
