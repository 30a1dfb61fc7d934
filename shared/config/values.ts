import { parseRateLimits, type RateLimit } from '../limits/rate-limit.ts';
import { isMailAddress } from '../mail/address.ts';
import { cleanForTerminal, codePoints } from '../text.ts';

// Parses and checks the values of single variables.

/** Normalises a URL with one of these protocols; null for any other string. */
export function parseUrl(text: string, protocol: RegExp): string | null {
  const url = URL.parse(text);
  return url !== null && protocol.test(url.protocol) ? url.href : null;
}

/** Parses comma-separated plain e-mail addresses and removes duplicates; null if any item is invalid. */
export function parseAddresses(text: string): string[] | null {
  const addresses = text.trim() === '' ? [] : text.split(',').map((part) => part.trim());
  return addresses.every(isMailAddress) ? [...new Set(addresses)] : null;
}

/** Parses `DEFAULT_RATE_LIMITS`; null for an invalid string. */
export function parseLimits(text: string): RateLimit[] | null {
  try {
    return parseRateLimits([text]);
  } catch {
    return null;
  }
}

/** Whether a name is visible, fits on one line of a page or mail, and can't change the direction of the text around it. */
export function isPublicName(text: string): boolean {
  return (
    codePoints(text) <= 40 &&
    text.trim() === text &&
    !/[\u2028\u2029]/.test(text) &&
    cleanForTerminal(text) === text &&
    VISIBLE.test(text)
  );
}

/** Unicode classifies the Braille blank as a symbol, but it is invisible. */
const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{Cf}\p{Z}\u2800]/u;
