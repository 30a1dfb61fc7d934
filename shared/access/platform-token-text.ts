import { checksumOf, newIdentifier } from '../keys/secret.ts';
import { type Random, randomBase62 } from '../random.ts';

// The text of a platform's token, which has the form and the checksum of a key's secret under another prefix, so that
// scanners for leaked secrets find it: plp_<identifier>_<32 random base62><6 base62 of the CRC-32 of all before it>.

const TOKEN = /^plp_([0-9A-Za-z]{8})_[0-9A-Za-z]{38}$/;
const CHECKSUM_LENGTH = 6;

/** A new token and its identifier, which is safe to show and log. */
export function newPlatformToken(random: Random): { token: string; identifier: string } {
  const identifier = newIdentifier(random);
  const body = `plp_${identifier}_${randomBase62(32, random)}`;
  return { token: body + checksumOf(body), identifier };
}

/** The identifier in a well-formed token whose checksum is right, or null. Touches no database. */
export function identifierOfPlatformToken(text: string): string | null {
  const identifier = TOKEN.exec(text)?.[1] ?? null;
  if (identifier === null) return null;
  return text.endsWith(checksumOf(text.slice(0, -CHECKSUM_LENGTH))) ? identifier : null;
}
