import { checkServerUrl } from '../../../shared/config/remote.ts';
import { AppError, refusalOf } from '../../../shared/errors.ts';
import { readCode } from '../../../shared/sign-in/code-text.ts';
import { PURPOSES } from '../../../shared/tickets/purposes.ts';
import { untilInterrupted } from '../../terminal/interrupt.ts';
import { notice } from '../../terminal/output.ts';
import { askText } from '../../terminal/prompts.ts';
import { openBrowser } from '../browser.ts';
import { listenForAnswer, type PageAnswer } from './callback.ts';
import { createPkce, type Pkce, pageAddress } from './pkce.ts';
import { exchangeCode } from './token.ts';

// The two ways in which a person lets this machine in on a page of the server.

/** How long the answer of the page is waited for. A code of that page works as long. */
const PATIENCE_MS = 300_000;

/**
 * Opens the server's page in a browser of this machine, waits until the person has decided there, and returns the token; null
 * where no browser could be opened. Throws `refused` where the person said no or the page is another server's, `try_later`
 * after five minutes, `cancelled` after Ctrl-C, and what `askHost` throws.
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
    const address = pageAddress(url, pkce, redirectUri);
    notice(
      `The browser opens this page, on which you let this machine in; open it yourself if it does not:\n${address}`,
    );
    const failed = openBrowser(address).then(() => null);
    const found = await Promise.race([answer, failed, lateAfter(patienceMs)]);
    return { code: found === null ? null : codeOf(url, found), redirectUri };
  } finally {
    close();
  }
}

/**
 * Prints the address of the server's page, asks for the code that it shows, again where it does not work, and returns the
 * token. Throws `invalid_grant` after the last try, `cancelled`, and what `askHost` throws.
 */
export async function getTokenByCode(url: string): Promise<string> {
  const pkce = createPkce();
  notice(`Open this page in a browser, and let this machine in there:\n${pageAddress(url, pkce, null)}`);
  for (let triesLeft: number = PURPOSES['sign-in code'].tries; ; triesLeft--) {
    const typed = await askText({
      message: 'The code that the page shows',
      hint: 'Eight letters and digits. Capitals, hyphens and spaces don’t matter.',
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

/** Rejects after so many milliseconds. The timer keeps no process alive. */
async function lateAfter(patienceMs: number): Promise<never> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, patienceMs).unref();
  await promise;
  const sentence = 'Nobody has let this machine in within five minutes, so it does not wait any longer; log in again.';
  throw new AppError('try_later', sentence);
}

/** The code of an answer. Throws `refused` where the person said no, and where the page is another server's (RFC 9207). */
function codeOf(url: string, { code, error, issuer }: PageAnswer): string {
  if (issuer !== url) throw new AppError('refused', otherServerText(url, issuer));
  if (error === 'access_denied') throw new AppError('refused', 'You did not let this machine in; nothing was changed.');
  if (code !== null) return code;
  throw new AppError('refused', `The page of ${url} could not let this machine in; nothing was changed. Log in again.`);
}

function otherServerText(url: string, issuer: string | null): string {
  const other = nameOf(issuer);
  const whose = other === null ? 'does not say whose it is' : `is of ${other}`;
  const advice =
    other === null ? 'Check the address.' : `If that is the server that you mean, run "profilectl login ${other}".`;
  return `The page that answered ${whose}, and not of ${url}; nothing was changed. ${advice}`;
}

/** The server's address that a page names, or null where that is none. */
function nameOf(issuer: string | null): string | null {
  try {
    return issuer === null ? null : checkServerUrl('iss', issuer);
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}
