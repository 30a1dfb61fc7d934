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

/** Adds `login`, which requests a token from a server and stores it for commands that use that server. */
export function addTo(command: Command): void {
  command
    .argument('[url]', 'the URL of the server, such as https://api.example.org; default: --host or PROFILECTL_HOST')
    .option('--no-browser', "don't open a browser; print a URL, and ask for the code that its page shows")
    .option('--with-token', 'read a token from stdin, or from a hidden prompt')
    .addHelpText(
      'after',
      `
Opens a page of the server in the browser, where a signed-in owner or admin allows the login. Over SSH, without a display or
with --no-browser, the page shows a short code to type here instead. Tokens of owners expire after 30 days without use, and
after 90 days in any case; tokens of admins expire after 12 hours. --with-token also accepts the token of a backend.

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
      // Fails early, so that no token is created that can't be stored.
      readLogins();
      if (options.withToken === true) return storeLogin({ url, token: await readToken() }, globals, source);
      const host = { url, token: await getToken(url, options.browser) };
      try {
        await storeLogin(host, globals, source);
      } catch (error) {
        // The token would be lost.
        await tryEndToken(host);
        throw error;
      }
    });
}

/** Obtains a token through the browser or by a typed code. Throws `usage` if neither is possible. */
async function getToken(url: string, mayOpen: boolean): Promise<string> {
  const isByBrowser = mayOpen && hasBrowser();
  if (!isByBrowser && !canAsk()) throw cannotLogIn(url);
  await expectServer(url);
  const token = isByBrowser ? await getTokenByBrowser(url) : null;
  if (token !== null) return token;
  if (!canAsk()) throw cannotLogIn(url);
  return getTokenByCode(url);
}

function cannotLogIn(url: string): AppError {
  return new AppError(
    'usage',
    `There is neither a browser nor a terminal to log in with; pass a token to "profilectl login ${url} --with-token" on stdin, or set PROFILECTL_TOKEN.`,
  );
}

async function readToken(): Promise<string> {
  const token = await readSecret('Token');
  if (isToken(token)) return token;
  throw new AppError('usage', `Standard input has ${token === '' ? 'no token' : 'no valid token'}.`);
}

/** Asks the server whose token this is, and stores it. The token that it replaces is revoked on the server. */
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
