import type { Random } from '../random.ts';

/** Crockford's base32: no I, L, O and U, so that people read and type it without mistakes. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** How many characters a code has; each holds 5 bits. */
const LENGTH = 8;

/** A new code in the form in which it is hashed: 40 random bits as 8 characters. */
export function newCode(random: Random): string {
  // Five bytes are exactly eight groups of five bits, so each code is equally likely.
  let bits = 0n;
  for (const byte of random((LENGTH * 5) / 8)) bits = (bits << 8n) | BigInt(byte);
  let code = '';
  for (let at = LENGTH - 1; at >= 0; at--) code += DIGITS[Number((bits >> BigInt(5 * at)) & 31n)];
  return code;
}

/** A code as people read it: `7Q2M-X0AB`. */
export function showCode(code: string): string {
  return `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`;
}

/**
 * Parses a typed code; null if it can't be one. Accepts lower case, spaces, any kind of hyphen, and the letters O, I
 * and L for the digits 0, 1 and 1.
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
