import { AppError } from '../../shared/errors.ts';
import type { VerifiedKey, Verifier } from '../../shared/keys/verify.ts';
import { blockOf } from './client-address.ts';
import { countFailure, type Throttle } from './throttle.ts';

// Scheme, spaces, token68 (RFC 9110, section 11.4). Two Authorization headers arrive joined by a comma, which a token can't have.
const CREDENTIALS = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * Returns the key whose secret is in the Authorization header (RFC 6750, section 2.1). Throws `no_credentials` if there is no
 * secret, `invalid_token` with the same sentence for every secret that does not work, and `too_many_failures` instead of
 * these if the address has failed too often.
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
  countFailure(throttle, blockOf(address));
  throw secret === null ? NO_CREDENTIALS : INVALID_TOKEN;
}

// Made once: in a flood of bad keys, making errors with their stack traces would be most of the work.
const NO_CREDENTIALS = new AppError('no_credentials');
const INVALID_TOKEN = new AppError('invalid_token');

/** The bearer token of an Authorization header; null if the header is absent, malformed or has another scheme. */
export function credentialsOf(authorization: string | null): string | null {
  return authorization === null ? null : (CREDENTIALS.exec(authorization)?.[1] ?? null);
}
