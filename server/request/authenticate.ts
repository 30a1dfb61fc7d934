import { AppError } from '../../shared/errors.ts';
import type { VerifiedKey, Verifier } from '../../shared/keys/verify.ts';
import { blockOf } from './client-address.ts';
import type { Throttle } from './throttle.ts';

// RFC 9110, section 11.4: scheme, spaces, token68. Two Authorization fields arrive joined by a comma, which is none.
const CREDENTIALS = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * The key whose secret the request carries (RFC 6750, section 2.1). Throws `no_credentials` or, with one sentence for
 * every bad key, `invalid_token`; `too_many_failures` where the address has had its share of these.
 */
export function authenticate(
  verify: Verifier,
  throttle: Throttle,
  authorization: string | null,
  address: string,
): VerifiedKey {
  const secret = credentialsOf(authorization);
  const key = secret === null ? null : verify(secret);
  if (key !== null) return key;
  throttle.count(blockOf(address));
  throw secret === null ? NO_CREDENTIALS : INVALID_TOKEN;
}

// Made once: in a flood of bad keys, taking a stack for each would be most of the work.
const NO_CREDENTIALS = new AppError('no_credentials');
const INVALID_TOKEN = new AppError('invalid_token');

/** What an Authorization header carries as a bearer; null where there is none, or of another scheme. */
export function credentialsOf(authorization: string | null): string | null {
  return authorization === null ? null : (CREDENTIALS.exec(authorization)?.[1] ?? null);
}
