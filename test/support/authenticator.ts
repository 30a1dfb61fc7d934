import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { coseKeyOf } from '../../shared/access/cose.ts';
import type { Assertion, Registration, RelyingParty } from '../../shared/access/webauthn.ts';

/** What an authenticator does otherwise than it should; everything is changed before it signs. */
export type Twist = {
  /** Replaces the client data, or single members of it; undefined removes one. */
  client?: Record<string, unknown> | string;
  flags?: number;
  signCount?: number;
  party?: Partial<RelyingParty>;
  /** Follows the authenticator data. */
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

/** One passkey in software, as a browser shows it to a page of this site. */
export function createAuthenticator(party: RelyingParty, kind: keyof typeof KINDS = 'ES256', credentialIdBytes = 20) {
  const { publicKey, privateKey } = KINDS[kind]() as { publicKey: KeyObject; privateKey: KeyObject };
  const credentialId = randomBytes(credentialIdBytes);
  const { cose } = coseKeyOf(publicKey);
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

  return {
    kind,
    credentialId,
    cose,
    publicKey: publicKey.export({ type: 'spki', format: 'der' }),
    /** Registers for a challenge; the attestation object is what only the independent implementation reads. */
    register: (challenge: string, handle: string, twist: Twist = {}): Registration & { attestationObject: string } => {
      userHandle = handle;
      const idLength = Buffer.alloc(2);
      idLength.writeUInt16BE(credentialId.length);
      const attested = Buffer.concat([Buffer.alloc(16), idLength, credentialId, cose]);
      const data = authenticatorData(twist, attested, USUAL_FLAGS | 0x40);
      return {
        credentialId: base64url(credentialId),
        clientDataJson: base64url(clientData('webauthn.create', challenge, twist)),
        authenticatorData: base64url(data),
        publicKey: base64url(publicKey.export({ type: 'spki', format: 'der' })),
        attestationObject: base64url(attestationObjectOf(data)),
      };
    },
    /** Signs for a challenge, counting one up. */
    assert: (challenge: string, twist: Twist = {}): Assertion => {
      signCount++;
      const client = clientData('webauthn.get', challenge, twist);
      const data = authenticatorData(twist, Buffer.alloc(0), USUAL_FLAGS);
      const signature = sign(kind === 'Ed25519' ? null : 'sha256', Buffer.concat([data, sha256(client)]), privateKey);
      return {
        credentialId: base64url(credentialId),
        clientDataJson: base64url(client),
        authenticatorData: base64url(data),
        signature: base64url(signature),
        userHandle,
      };
    },
  };
}

/** A passkey in software. */
export type Authenticator = ReturnType<typeof createAuthenticator>;

/** `{"fmt": "none", "attStmt": {}, "authData": data}` in CBOR. */
export function attestationObjectOf(data: Uint8Array): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.of(0x60 + value.length), Buffer.from(value)]);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(data.length);
  return Buffer.concat([
    Buffer.of(0xa3),
    ...[text('fmt'), text('none'), text('attStmt'), Buffer.of(0xa0), text('authData'), Buffer.of(0x59), length, data],
  ]);
}
