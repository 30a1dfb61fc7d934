import { hostname } from 'node:os';
import { checkServerUrl } from '../../../shared/config/remote.ts';
import { AppError, refusalOf } from '../../../shared/errors.ts';
import { systemRandom } from '../../../shared/random.ts';
import { CLI_CLIENT_ID, machineName } from '../../../shared/sign-in/cli-client.ts';
import { readCode } from '../../../shared/sign-in/code-text.ts';
import { PURPOSES } from '../../../shared/tickets/purposes.ts';
import { notice } from '../../terminal/output.ts';
import { askText } from '../../terminal/prompts.ts';
import { untilInterrupted } from '../../terminal/waiting.ts';
import { openBrowser } from '../browser.ts';
import { listenForAnswer, type PageAnswer } from './callback.ts';
import { exchangeCode } from './token.ts';

// The two ways to log in on a page of the server: through a browser on this machine, or by a code that the page shows.

/** How long the page's code is valid. */
const PATIENCE_MS = 300_000;

/**
 * Opens the server's page in a browser of this machine, waits for the person to decide there, and returns the token; null if
 * no browser could be opened. Throws `refused` if the person cancelled or the page belongs to another server, `try_later`
 * after five minutes, `cancelled` after Ctrl-C, and the errors of a request to the server.
 */
export async function getTokenByBrowser(url: string, patienceMs = PATIENCE_MS): Promise<string | null> {
  const pkce = createPkce();
  const { code, redirectUri } = await untilInterrupted(waitForCode(url, pkce, patienceMs), nothingChanged);
  if (code !== null) return exchangeCode(url, { code, verifier: pkce.verifier, redirectUri });
  notice('No browser could be opened.');
  return null;
}

async function waitForCode(url: string, pkce: Pkce, patienceMs: number) {
  const { redirectUri, answer, close } = await listenForAnswer(pkce.state);
  try {
    const page = pageUrl(url, pkce, redirectUri);
    notice(
      `Opening this page in your browser, where you can allow the login. If it does not open, open it yourself:\n${page}`,
    );
    const failed = openBrowser(page).then(() => null);
    const found = await Promise.race([answer, failed, lateAfter(patienceMs)]);
    return { code: found === null ? null : codeOf(url, found), redirectUri };
  } finally {
    close();
  }
}

/**
 * Prints the URL of the server's page, asks for the code that it shows, again after a wrong code, and returns the token.
 * Throws `invalid_grant` after the last try, `cancelled`, and the errors of a request to the server.
 */
export async function getTokenByCode(url: string): Promise<string> {
  const pkce = createPkce();
  notice(`Open this page in a browser, and allow the login there:\n${pageUrl(url, pkce, null)}`);
  for (let triesLeft: number = PURPOSES['login code'].tries; ; triesLeft--) {
    const typed = await askText({
      message: 'Code from the page',
      hint: "Eight letters and digits; case, hyphens and spaces don't matter.",
      fault: (text) => (readCode(text) === null ? 'A code has eight letters and digits, like 7Q2M-X0A1.' : null),
    });
    try {
      return await exchangeCode(url, { code: typed, verifier: pkce.verifier, redirectUri: null });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'invalid_grant' || triesLeft === 1) throw error;
      notice(error.message);
    }
  }
}

function nothingChanged(): string {
  return refusalOf('cancelled').sentence as string;
}

/** Rejects after this time. The timer does not keep the process alive. */
async function lateAfter(patienceMs: number): Promise<never> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, patienceMs).unref();
  await promise;
  const sentence = 'You did not allow the login within five minutes; log in again.';
  throw new AppError('try_later', sentence);
}

/** The code of an answer. Throws `refused` if the person cancelled, or if the page belongs to another server (RFC 9207). */
function codeOf(url: string, { code, error, issuer }: PageAnswer): string {
  if (issuer !== url) throw new AppError('refused', otherServerText(url, issuer));
  if (error === 'access_denied') throw new AppError('refused', 'You cancelled the login; nothing was changed.');
  if (code !== null) return code;
  throw new AppError('refused', `The login on the page of ${url} failed; nothing was changed. Log in again.`);
}

function otherServerText(url: string, issuer: string | null): string {
  const other = nameOf(issuer);
  if (other === null) return `The page that answered does not belong to ${url}; nothing was changed. Check the URL.`;
  return `The page that answered belongs to ${other}, not to ${url}; nothing was changed. To use that server, run "profilectl login ${other}".`;
}

/** The server URL that a page claims, or null if that is not a valid one. */
function nameOf(issuer: string | null): string | null {
  try {
    return issuer === null ? null : checkServerUrl('iss', issuer);
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

/** The random values of one login. */
type Pkce = {
  /** The secret that proves that this process requested the code; sent only when the code is exchanged (RFC 7636). */
  verifier: string;
  /** The value that the page's answer must repeat. */
  state: string;
};

const RANDOM_BYTES = 32;

function createPkce(): Pkce {
  const secret = () => Buffer.from(systemRandom(RANDOM_BYTES)).toString('base64url');
  return { verifier: secret(), state: secret() };
}

/**
 * The URL of the page on which a person allows the login. `redirectUri` is where the page sends the code, null if it shows
 * the code instead. The URL contains no secret, because other users may read it in the list of processes.
 */
function pageUrl(url: string, { verifier, state }: Pkce, redirectUri: string | null): string {
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: CLI_CLIENT_ID,
    code_challenge: new Bun.CryptoHasher('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state,
    machine: machineName(hostname()),
    ...(redirectUri !== null && { redirect_uri: redirectUri }),
  });
  return `${url}/developers/cli?${parameters}`;
}
