import { checksumOf, newIdentifier } from '../keys/secret.ts';
import { type Random, randomBase62 } from '../random.ts';

// The text of backends' tokens. They have the form and checksum of a key's secret, with another prefix, so that secret scanners
// find leaked ones: plp_<identifier>_<32 random base62><6 base62 of the CRC-32 of everything before it>.

const TOKEN = /^plp_([0-9A-Za-z]{8})_[0-9A-Za-z]{38}$/;
const CHECKSUM_LENGTH = 6;

/** A new token and its identifier, which is safe to show and log. */
export function newTokenText(random: Random): { token: string; identifier: string } {
  const identifier = newIdentifier(random);
  const body = `plp_${identifier}_${randomBase62(32, random)}`;
  return { token: body + checksumOf(body), identifier };
}

/** The identifier of a well-formed token with the right checksum, otherwise null. Reads no database. */
export function readTokenText(text: string): string | null {
  const [, identifier] = TOKEN.exec(text) ?? [];
  if (identifier === undefined) return null;
  return text.endsWith(checksumOf(text.slice(0, -CHECKSUM_LENGTH))) ? identifier : null;
}
