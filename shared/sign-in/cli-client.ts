import { cleanForTerminal } from '../text.ts';

// What `profilectl` and the server where it logs in have to agree on.

/** The client id with which `profilectl` asks for a token (RFC 6749). It is the only client, and has no secret. */
export const CLI_CLIENT_ID = 'profilectl';

/** The longest name of a machine that is kept, in characters. */
const MOST_CHARACTERS = 64;

/** A machine's name for itself, without characters that change text direction or move a cursor. */
export function machineName(text: string): string {
  const cleaned = [...cleanForTerminal(text).trim()].slice(0, MOST_CHARACTERS).join('').trim();
  return cleaned === '' ? 'a machine without a name' : cleaned;
}
