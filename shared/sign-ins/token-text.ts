import { checksumOf, newIdentifier } from '../keys/secret.ts';
import { type Random, randomBase62 } from '../random.ts';

// The text of tokens. They have the form and checksum of a key's secret, with other prefixes, so that secret scanners
// find leaked ones: <prefix>_<identifier>_<32 random base62><6 base62 of the CRC-32 of everything before it>.

/** The kind of a token: `plp` for a customer's backend, `plt` for a person's `profilectl`. */
export type TokenPrefix = 'plp' | 'plt';

const TOKEN = /^(plp|plt)_([0-9A-Za-z]{8})_[0-9A-Za-z]{38}$/;
const CHECKSUM_LENGTH = 6;

/** A new token and its identifier, which is safe to show and log. */
export function newTokenText(prefix: TokenPrefix, random: Random): { token: string; identifier: string } {
  const identifier = newIdentifier(random);
  const body = `${prefix}_${identifier}_${randomBase62(32, random)}`;
  return { token: body + checksumOf(body), identifier };
}

/** The prefix and identifier of a well-formed token with the right checksum, otherwise null. Reads no database. */
export function readTokenText(text: string): { prefix: TokenPrefix; identifier: string } | null {
  const [, prefix, identifier] = TOKEN.exec(text) ?? [];
  if (prefix === undefined || identifier === undefined) return null;
  if (!text.endsWith(checksumOf(text.slice(0, -CHECKSUM_LENGTH)))) return null;
  return { prefix: prefix as TokenPrefix, identifier };
}
