import { createPublicKey } from 'node:crypto';
import { cose, decodeCredentialPublicKey, isoCBOR } from '@simplewebauthn/server/helpers';
import type { AppError } from '../errors.ts';
import { COSE_ALGORITHMS, unacceptable } from './passkey-json.ts';

// The public keys of passkeys. Authenticators encode them as COSE (RFC 9052, RFC 9053, RFC 8230), which the library
// accepts; the database stores the DER of a SubjectPublicKeyInfo. Errors are thrown as `forbidden`.

/** An accepted algorithm. */
export type Algorithm = keyof typeof COSE_ALGORITHMS;

const { COSEKEYS: KEYS, COSEKTY, COSECRV } = cose;
const MIN_MODULUS_BYTES = 256;
const MAX_MODULUS_BYTES = 512;

/**
 * Converts a SubjectPublicKeyInfo to COSE in the canonical CBOR of CTAP2, in which each key has exactly one form, and
 * returns its algorithm.
 */
export function coseOf(spki: Uint8Array): { algorithm: Algorithm; key: Uint8Array<ArrayBuffer> } {
  const jwk = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' }).export({ format: 'jwk' });
  const bytes = (text = '') => new Uint8Array(Buffer.from(text, 'base64url'));
  const write = (algorithm: Algorithm, type: number, ...members: [number, number | Uint8Array][]) => {
    const all: typeof members = [[KEYS.kty, type], [KEYS.alg, COSE_ALGORITHMS[algorithm]], ...members];
    return { algorithm, key: new Uint8Array(isoCBOR.encode(new Map(all))) };
  };
  if (jwk.crv === 'P-256') {
    const point: [number, Uint8Array][] = [
      [KEYS.x, bytes(jwk.x)],
      [KEYS.y, bytes(jwk.y)],
    ];
    return write('ES256', COSEKTY.EC2, [KEYS.crv, COSECRV.P256], ...point);
  }
  if (jwk.crv === 'Ed25519') return write('Ed25519', COSEKTY.OKP, [KEYS.crv, COSECRV.ED25519], [KEYS.x, bytes(jwk.x)]);
  const modulus = bytes(jwk.n);
  if (modulus.length < MIN_MODULUS_BYTES || modulus.length > MAX_MODULUS_BYTES) throw unsupportedKey();
  return write('RS256', COSEKTY.RSA, [KEYS.n, modulus], [KEYS.e, bytes(jwk.e)]);
}

/** Converts a COSE key from an authenticator, in its canonical form, to the DER of a SubjectPublicKeyInfo. */
export function spkiOf(coseKey: Uint8Array<ArrayBuffer>): Buffer {
  const decoded = decodeCredentialPublicKey(coseKey);
  const text = (bytes = new Uint8Array()) => Buffer.from(bytes).toString('base64url');
  const jwk = () => {
    if (cose.isCOSEPublicKeyEC2(decoded)) {
      return { kty: 'EC', crv: 'P-256', x: text(decoded.get(KEYS.x)), y: text(decoded.get(KEYS.y)) };
    }
    if (cose.isCOSEPublicKeyOKP(decoded)) return { kty: 'OKP', crv: 'Ed25519', x: text(decoded.get(KEYS.x)) };
    if (cose.isCOSEPublicKeyRSA(decoded))
      return { kty: 'RSA', n: text(decoded.get(KEYS.n)), e: text(decoded.get(KEYS.e)) };
    throw unsupportedKey();
  };
  const spki = createPublicKey({ key: jwk(), format: 'jwk' }).export({ type: 'spki', format: 'der' });
  // The library checks only the algorithm, but not the curve, the length, or additional content.
  if (!Buffer.from(coseOf(spki).key).equals(coseKey)) throw unsupportedKey();
  return spki;
}

/** The error for a key of an unsupported kind. */
export function unsupportedKey(): AppError {
  return unacceptable('its key is not ES256, Ed25519 or RS256');
}

/**
 * Whether an ECDSA signature is exactly two numbers in DER (X.690). The library also accepts longer encodings, and
 * ignores trailing bytes.
 */
export function isDer(signature: Uint8Array): boolean {
  const endOfNumber = (at: number) => {
    const [tag, length = 0, first = 0, second = 0] = signature.subarray(at);
    const isShortest = length > 0 && first < 0x80 && (first > 0 || length === 1 || second >= 0x80);
    return tag === 2 && isShortest ? at + 2 + length : signature.length + 1;
  };
  const [tag, length] = signature;
  return tag === 0x30 && length === signature.length - 2 && endOfNumber(endOfNumber(2)) === signature.length;
}
