import type { Command } from 'commander';
import type { Source } from '../../../shared/config/environment.ts';
import { isToken } from '../../../shared/config/network.ts';
import { AppError } from '../../../shared/errors.ts';
import { variablesOf } from '../../configuration.ts';
import { type Globals, globalsOf } from '../../context.ts';
import { canAsk, notice, print, printJson } from '../../terminal/output.ts';
import { readSecret } from '../../terminal/read-secret.ts';
import { hasBrowser } from '../browser.ts';
import { changeLogins, loginsPath, readLogins } from '../stored-logins.ts';
import { type Host, serverNamed } from '../target.ts';
import { getTokenByBrowser, getTokenByCode } from './login-flow.ts';
import { endQuietly, expectServer, identityText, readIdentity } from './token.ts';

type Options = { browser: boolean; withToken?: boolean };

/** Adds `login`, which gets a token from a server and stores it for the commands that ask that server. */
export function addTo(command: Command): void {
  command
    .argument('[url]', 'the address of the server, such as https://api.example.org; --host and PROFILECTL_HOST will do')
    .option('--no-browser', 'open no browser: print the address, and ask for the code that the page shows')
    .option('--with-token', 'read a token from stdin, or from a hidden prompt')
    .addHelpText(
      'after',
      `
The browser opens a page of the server, on which an owner or an admin who is signed in lets this machine in, and comes
back to an address of this machine. Over SSH, without a display and with --no-browser the page shows a short code to type here. A
token lasts 30 days without use and 90 at most, an admin's 12 hours; --with-token takes a backend's token too.

The token is stored in $XDG_CONFIG_HOME/profilectl/hosts.json (~/.config where that is unset), with mode 0600: whoever
can read the file can do what you can. PROFILECTL_TOKEN is used instead where it is set.

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
      // Before a token is made that could not be stored.
      readLogins();
      if (options.withToken === true) return storeLogin({ url, token: await readToken() }, globals, source);
      const host = { url, token: await getToken(url, options.browser) };
      try {
        await storeLogin(host, globals, source);
      } catch (error) {
        // Nobody has this token but this process.
        await endQuietly(host);
        throw error;
      }
    });
}

/** Gets a token in the way that is possible here. Throws `usage` where nobody can be asked. */
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
    `There is neither a browser nor a terminal here to log in with; "profilectl login ${url} --with-token" reads a token from stdin, and PROFILECTL_TOKEN may hold one.`,
  );
}

async function readToken(): Promise<string> {
  const token = await readSecret('Token');
  if (isToken(token)) return token;
  throw new AppError('usage', `Standard input has ${token === '' ? 'no token' : 'something that is no token'}.`);
}

/** Stores a token, after finding out whose it is. The one that it replaces is ended on the server. */
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
  else print(`Logged in at ${url} as ${identityText(identity)}.\nThe token is stored in ${file}, mode 0600.`);
  if (source.PROFILECTL_TOKEN) notice('Warning: PROFILECTL_TOKEN is set, and is used instead of what is stored.');
  if (former !== undefined && former !== token) await endQuietly({ url, token: former });
}
