import { checksumOf, newIdentifier } from '../keys/secret.ts';
import { type Random, randomBase62 } from '../random.ts';

// The text of tokens, which have the form and the checksum of a key's secret under other prefixes, so that scanners for
// leaked secrets find them: <prefix>_<identifier>_<32 random base62><6 base62 of the CRC-32 of all before it>.

/** Whose a token is: a platform's backend has `plp`, a person's `profilectl` has `plt`. */
export type TokenPrefix = 'plp' | 'plt';

const TOKEN = /^(plp|plt)_([0-9A-Za-z]{8})_[0-9A-Za-z]{38}$/;
const CHECKSUM_LENGTH = 6;

/** A new token and its identifier, which is safe to show and log. */
export function newTokenText(prefix: TokenPrefix, random: Random): { token: string; identifier: string } {
  const identifier = newIdentifier(random);
  const body = `${prefix}_${identifier}_${randomBase62(32, random)}`;
  return { token: body + checksumOf(body), identifier };
}

/** Prefix and identifier of a well-formed token whose checksum is right, or null. Touches no database. */
export function readTokenText(text: string): { prefix: TokenPrefix; identifier: string } | null {
  const [, prefix, identifier] = TOKEN.exec(text) ?? [];
  if (prefix === undefined || identifier === undefined) return null;
  if (!text.endsWith(checksumOf(text.slice(0, -CHECKSUM_LENGTH)))) return null;
  return { prefix: prefix as TokenPrefix, identifier };
}
