import { cleanForTerminal } from '../text.ts';

// What a `profilectl` that logs in at a server and the server have to agree on.

/** The client id with which `profilectl` asks for a token (RFC 6749). It is the only client, and has no secret. */
export const CLI_CLIENT_ID = 'profilectl';

/** So many characters are kept of what a machine calls itself. */
const MOST_CHARACTERS = 64;

/** What a machine calls itself, without what could turn the texts around it or move a cursor. */
export function machineName(text: string): string {
  const cleaned = [...cleanForTerminal(text).trim()].slice(0, MOST_CHARACTERS).join('').trim();
  return cleaned === '' ? 'a machine without a name' : cleaned;
}
