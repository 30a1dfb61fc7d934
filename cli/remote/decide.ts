import { systemClock } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';
import { isLoopback } from '../../shared/net.ts';
import type { While } from '../keys/context.ts';
import { hasBrowser, openBrowser } from './browser.ts';
import { type AskedHost, askHost, type HostAnswer, type Question } from './client.ts';
import { strangeAnswer } from './refused-answer.ts';

// An admin's token takes no decision. The server answers with the address of a page where the admin lets exactly this
// decision through by a passkey; the same request, sent again, is then carried out.

/** The code of the answer that names the page. */
const NEEDED = 'decision_needed';

/** How long a decision may wait for the admin at the server. */
const LIVES_FOR_MS = 300_000;

/** The same request is sent again after pauses that double from the first to the longest. */
const PAUSE_MS = { first: 250, longest: 2_000 };

/**
 * Sends a request. Where it needs a decision, tells the page, opens it in the browser of this machine where there is one and
 * the page is of the server that was asked, and sends the same again until the admin has decided there. Returns the answer.
 * Throws `try_later` where that takes longer than five minutes, and what `askHost` throws.
 */
export async function askUntilDecided(
  host: AskedHost,
  question: Question,
  { say, signal }: While,
): Promise<HostAnswer> {
  const begunMs = systemClock.monotonicMs();
  let page: string | null = null;
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS.longest)) {
    const answer = await askHost(host, { ...question, returned: [NEEDED] });
    if (answer.headers.get('x-error-code') !== NEEDED) return answer;
    const address = pageIn(host, answer);
    if (page === null) showPage(address, isOf(host, address), say);
    // Another page is that of another decision: the time of the first one is over.
    if ((page ?? address) !== address || systemClock.monotonicMs() - begunMs > LIVES_FOR_MS) throw tooLate();
    page = address;
    await Bun.sleep(pauseMs);
    if (signal.aborted) throw new AppError('cancelled');
  }
}

function tooLate(): AppError {
  return new AppError('try_later', 'Nobody has decided on that page within five minutes; nothing was changed.');
}

function showPage(address: string, mayOpen: boolean, say: While['say']): void {
  say(`Your passkey is needed for this. Open this page within five minutes, and decide there:\n${address}`);
  // Where it can't be opened, the address is there to be copied.
  if (mayOpen && hasBrowser()) void openBrowser(address);
}

/** Where a decision has its page: its path below the server's address. */
const PAGE = /\/developers\/cli\/decisions\/[0-9A-Za-z]{8}$/;

/** The address of the page. Throws `refused` for one that is no page of a decision. */
function pageIn({ url }: AskedHost, { status, body: { address } }: HostAnswer): string {
  const page = typeof address === 'string' && PAGE.test(address) ? URL.parse(address) : null;
  const isLocal = page !== null && isLoopback(page.hostname.replace(/^\[|\]$/g, ''));
  if (
    page !== null &&
    page.href === address &&
    (page.protocol === 'https:' || (page.protocol === 'http:' && isLocal))
  ) {
    return address;
  }
  throw strangeAnswer(url, status);
}

/**
 * Whether an address is of the server that was asked, compared as a text. Another one may be right, where a server is asked by
 * another name than its PUBLIC_URL; but the browser is given none that a server makes up, on this machine least of all.
 */
function isOf({ url }: AskedHost, address: string): boolean {
  return address.replace(PAGE, '') === url;
}
