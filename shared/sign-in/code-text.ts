import type { Random } from '../random.ts';

/** Crockford's base32: without I, L, O and U, which people confuse. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The number of characters of a code; each holds 5 bits. */
const LENGTH = 8;

/** A new code, in the form that is hashed: 40 random bits as 8 characters. */
export function newCode(random: Random): string {
  // Five bytes are exactly eight groups of five bits, so all codes are equally likely.
  let bits = 0n;
  for (const byte of random((LENGTH * 5) / 8)) bits = (bits << 8n) | BigInt(byte);
  let code = '';
  for (let at = LENGTH - 1; at >= 0; at--) code += DIGITS[Number((bits >> BigInt(5 * at)) & 31n)];
  return code;
}

/** A code as it is shown: `7Q2M-X0AB`. */
export function showCode(code: string): string {
  return `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`;
}

/**
 * Parses a typed code; null if it can't be one. Accepts lower case, spaces, any kind of hyphen, and O, I and L for the
 * digits 0, 1 and 1.
 */
export function readCode(typed: string): string | null {
  if (typed.length > 100) return null;
  const code = typed
    .normalize('NFKC')
    .replace(/[\s\p{Pd}]/gu, '')
    .toUpperCase()
    .replace(/O/g, '0')
    .replace(/[IL]/g, '1');
  return code.length === LENGTH && [...code].every((char) => DIGITS.includes(char)) ? code : null;
}
