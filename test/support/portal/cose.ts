import type { KeyObject } from 'node:crypto';
import { AppError } from '../../../shared/errors.ts';

/** The algorithms that passkeys may use, by their names in JOSE and COSE. */
export type Algorithm = 'ES256' | 'Ed25519' | 'RS256';

/** Their numbers in COSE, in the order of preference for the browser. */
export const COSE_ALGORITHMS = { ES256: -7, Ed25519: -8, RS256: -257 } as const satisfies Record<Algorithm, number>;

/**
 * A public key as an authenticator encodes it: COSE (RFC 9052, RFC 9053, RFC 8230) in the canonical CBOR of CTAP2, in
 * which each of the three kinds has exactly one form. Throws `forbidden` for other kinds of keys.
 */
export function coseKeyOf(key: KeyObject): { algorithm: Algorithm; cose: Buffer } {
  const jwk = key.export({ format: 'jwk' });
  const bytes = (text = '') => Buffer.from(text, 'base64url');
  if (jwk.kty === 'EC' && jwk.crv === 'P-256') {
    // {1: 2, 3: -7, -1: 1, -2: x, -3: y}
    const cose = Buffer.concat([hex('a5010203262001215820'), bytes(jwk.x), hex('225820'), bytes(jwk.y)]);
    return { algorithm: 'ES256', cose };
  }
  if (jwk.kty === 'OKP' && jwk.crv === 'Ed25519') {
    // {1: 1, 3: -8, -1: 6, -2: x}
    return { algorithm: 'Ed25519', cose: Buffer.concat([hex('a4010103272006215820'), bytes(jwk.x)]) };
  }
  const modulus = bytes(jwk.n);
  if (jwk.kty === 'RSA' && modulus.length >= MIN_MODULUS_BYTES && modulus.length <= MAX_MODULUS_BYTES) {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(modulus.length);
    const exponent = bytes(jwk.e);
    // {1: 3, 3: -257, -1: n, -2: e}
    const start = [hex('a401030339010020'), hex('59'), length, modulus];
    return {
      algorithm: 'RS256',
      cose: Buffer.concat([...start, hex('21'), Buffer.of(0x40 + exponent.length), exponent]),
    };
  }
  throw new AppError('forbidden', 'This passkey was not accepted: its key is not ES256, Ed25519 or RS256.');
}

const MIN_MODULUS_BYTES = 256;
const MAX_MODULUS_BYTES = 512;

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}
