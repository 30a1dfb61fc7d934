import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import type { RelyingParty } from '../../shared/sign-in/webauthn.ts';

/** Deviations of a faulty authenticator, all applied before it signs. */
export type Twist = {
  /** Replaces the client data, or single members of it; undefined removes one. */
  client?: Record<string, unknown> | string;
  flags?: number;
  signCount?: number;
  party?: Partial<RelyingParty>;
  /** Whether the new passkey sends a self-attestation; implemented only for ES256. */
  isSelfAttested?: boolean;
  /** The public key to register, as COSE. */
  cose?: Uint8Array;
  /** Appended to the authenticator data. */
  extensions?: Uint8Array;
};

/** User present and verified. */
export const USUAL_FLAGS = 0x05;

const KINDS = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  Ed25519: () => generateKeyPairSync('ed25519'),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
} as const;

const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest();

/** A public key as an authenticator encodes it: COSE (RFC 9052, RFC 9053, RFC 8230) in CBOR. */
function coseOf(key: KeyObject, kind: keyof typeof KINDS): Uint8Array {
  const jwk = key.export({ format: 'jwk' });
  const bytes = (text = '') => new Uint8Array(Buffer.from(text, 'base64url'));
  const members: Record<keyof typeof KINDS, [number, number | Uint8Array][]> = {
    ES256: [
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes(jwk.x)],
      [-3, bytes(jwk.y)],
    ],
    Ed25519: [
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, bytes(jwk.x)],
    ],
    RS256: [
      [1, 3],
      [3, -257],
      [-1, bytes(jwk.n)],
      [-2, bytes(jwk.e)],
    ],
  };
  return isoCBOR.encode(new Map(members[kind]));
}

/** One passkey in software, as a browser offers it to a page of this site. */
export function createAuthenticator(party: RelyingParty, kind: keyof typeof KINDS = 'ES256', credentialIdBytes = 20) {
  const { publicKey, privateKey } = KINDS[kind]() as { publicKey: KeyObject; privateKey: KeyObject };
  const credentialId = randomBytes(credentialIdBytes);
  const cose = coseOf(publicKey, kind);
  let signCount = 0;
  let userHandle: string | null = null;

  const clientData = (type: string, challenge: string, { client = {}, party: site }: Twist) =>
    Buffer.from(
      typeof client === 'string'
        ? client
        : JSON.stringify({ type, challenge, origin: site?.origin ?? party.origin, crossOrigin: false, ...client }),
    );

  const authenticatorData = (twist: Twist, more: Uint8Array, usualFlags: number) => {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(twist.signCount ?? signCount);
    const flags = Buffer.of(twist.flags ?? usualFlags);
    return Buffer.concat([
      sha256(twist.party?.id ?? party.id),
      flags,
      counter,
      more,
      twist.extensions ?? Buffer.alloc(0),
    ]);
  };

  /** `{"alg": -7, "sig": …}` in CBOR. */
  const selfAttestation = (data: Uint8Array, client: Uint8Array) => {
    const signature = sign('sha256', Buffer.concat([data, sha256(client)]), privateKey);
    return Buffer.concat([Buffer.from('a263616c67266373696758', 'hex'), Buffer.of(signature.length), signature]);
  };

  const credential = {
    id: base64url(credentialId),
    rawId: base64url(credentialId),
    type: 'public-key',
    clientExtensionResults: {},
  } as const;

  return {
    kind,
    credentialId,
    cose,
    publicKey: publicKey.export({ type: 'spki', format: 'der' }),
    /** The passkey as Chromium's virtual authenticator stores it, with the counter's next values. */
    exported: () => ({
      credentialId: credentialId.toString('base64'),
      isResidentCredential: true,
      rpId: party.id,
      privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
      userHandle: Buffer.from(userHandle ?? '', 'base64url').toString('base64'),
      signCount,
    }),
    /** Registers for a challenge; returns what a browser sends, as JSON. */
    register: (challenge: string, handle: string, twist: Twist = {}): string => {
      userHandle = handle;
      const idLength = Buffer.alloc(2);
      idLength.writeUInt16BE(credentialId.length);
      const attested = Buffer.concat([Buffer.alloc(16), idLength, credentialId, twist.cose ?? cose]);
      const data = authenticatorData(twist, attested, USUAL_FLAGS | 0x40);
      const client = clientData('webauthn.create', challenge, twist);
      const statement: [format?: string, statement?: Uint8Array] = twist.isSelfAttested
        ? (['packed', selfAttestation(data, client)] as const)
        : [];
      return JSON.stringify({
        ...credential,
        response: {
          clientDataJSON: base64url(client),
          attestationObject: base64url(attestationObjectOf(data, ...statement)),
          // Browsers send these too; the server ignores them.
          authenticatorData: base64url(data),
          publicKey: base64url(publicKey.export({ type: 'spki', format: 'der' })),
          transports: ['internal'],
        },
      } satisfies RegistrationResponseJSON);
    },
    /** Signs a challenge and increments the counter; returns what a browser sends, as JSON. */
    assert: (challenge: string, twist: Twist = {}): string => {
      signCount++;
      const client = clientData('webauthn.get', challenge, twist);
      const data = authenticatorData(twist, Buffer.alloc(0), USUAL_FLAGS);
      const signature = sign(kind === 'Ed25519' ? null : 'sha256', Buffer.concat([data, sha256(client)]), privateKey);
      return JSON.stringify({
        ...credential,
        response: {
          clientDataJSON: base64url(client),
          authenticatorData: base64url(data),
          signature: base64url(signature),
          ...(userHandle !== null && { userHandle }),
        },
      } satisfies AuthenticationResponseJSON);
    },
  };
}

/** A passkey in software. */
export type Authenticator = ReturnType<typeof createAuthenticator>;

/** `{"fmt": "none", "attStmt": {}, "authData": data}` in CBOR, or with another format and statement. */
export function attestationObjectOf(
  data: Uint8Array,
  format = 'none',
  statement: Uint8Array = Buffer.of(0xa0),
): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.of(0x60 + value.length), Buffer.from(value)]);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(data.length);
  return Buffer.concat([
    Buffer.of(0xa3),
    ...[text('fmt'), text(format), text('attStmt'), statement, text('authData'), Buffer.of(0x59), length, data],
  ]);
}
