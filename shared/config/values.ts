import { faultOf } from '../errors.ts';
import { parseRateLimits, type RateLimit } from '../limits/rate-limit.ts';
import { isMailAddress } from '../mail/address.ts';
import { cleanForTerminal, codePoints } from '../text.ts';
import { checkServerUrl } from './remote.ts';

// What variables may hold, beyond the kinds of kinds.ts.

/** The normal form of a URL with one of these protocols, or null. */
export function parseUrl(text: string, protocol: RegExp): string | null {
  const url = URL.parse(text);
  return url !== null && protocol.test(url.protocol) ? url.href : null;
}

/** Plain addresses, separated by commas, each once; null where one is none. */
export function parseAddresses(text: string): string[] | null {
  const addresses = text.trim() === '' ? [] : text.split(',').map((part) => part.trim());
  return addresses.every(isMailAddress) ? [...new Set(addresses)] : null;
}

/** Rate limits as `DEFAULT_RATE_LIMITS` has them, or null. */
export function parseLimits(text: string): RateLimit[] | null {
  try {
    return parseRateLimits([text]);
  } catch {
    return null;
  }
}

/** Whether a server can have this address. `profilectl` reads its own two variables by `remote.ts`, which also says in detail what is wrong with such an address. */
export function isServerUrl(text: string): boolean {
  return faultOf(() => checkServerUrl('PROFILECTL_HOST', text)) === null;
}

/** Whether a name can stand in one line of a page or mail, and turns nothing around it. */
export function isPublicName(text: string): boolean {
  return (
    codePoints(text) <= 40 && text.trim() === text && !/[\u2028\u2029]/.test(text) && cleanForTerminal(text) === text
  );
}
