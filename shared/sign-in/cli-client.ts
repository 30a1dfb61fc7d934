import { cleanForTerminal } from '../text.ts';

// The agreements between `profilectl` and the server where it logs in.

/** The client id with which `profilectl` requests a token (RFC 6749). It is the only client, and has no secret. */
export const CLI_CLIENT_ID = 'profilectl';

/** Longer names of machines are cut, in characters. */
const MAX_CHARACTERS = 64;

/** A machine's own name, without characters that change text direction or move a cursor. */
export function machineName(text: string): string {
  const cleaned = [...cleanForTerminal(text).trim()].slice(0, MAX_CHARACTERS).join('').trim();
  return cleaned === '' ? 'a machine without a name' : cleaned;
}
