import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import type { RelyingParty } from '../../shared/sign-in/webauthn.ts';

/** Deviations of a faulty authenticator, all applied before it signs. */
export type Twist = {
  /** Replaces members of the client data. */
  client?: Record<string, unknown>;
  flags?: number;
  signCount?: number;
  party?: Partial<RelyingParty>;
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
  const members: Record<keyof typeof KINDS, Record<string, number | Uint8Array>> = {
    ES256: { 1: 2, 3: -7, '-1': 1, '-2': bytes(jwk.x), '-3': bytes(jwk.y) },
    Ed25519: { 1: 1, 3: -8, '-1': 6, '-2': bytes(jwk.x) },
    RS256: { 1: 3, 3: -257, '-1': bytes(jwk.n), '-2': bytes(jwk.e) },
  };
  return isoCBOR.encode(new Map(Object.entries(members[kind]).map(([label, value]) => [Number(label), value])));
}

/** One passkey in software, as a browser offers it to a page of this site. */
export function createAuthenticator(party: RelyingParty, kind: keyof typeof KINDS = 'ES256') {
  const { publicKey, privateKey } = KINDS[kind]() as { publicKey: KeyObject; privateKey: KeyObject };
  const credentialId = randomBytes(20);
  const cose = coseOf(publicKey, kind);
  let signCount = 0;
  let userHandle: string | null = null;

  const clientData = (type: string, challenge: string, { client, party: site }: Twist) =>
    Buffer.from(
      JSON.stringify({ type, challenge, origin: site?.origin ?? party.origin, crossOrigin: false, ...client }),
    );

  const authenticatorData = (twist: Twist, more: Uint8Array, usualFlags: number) => {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(twist.signCount ?? signCount);
    const flags = Buffer.of(twist.flags ?? usualFlags);
    const extensions = twist.extensions ?? Buffer.alloc(0);
    return Buffer.concat([sha256(twist.party?.id ?? party.id), flags, counter, more, extensions]);
  };

  const signed = (data: Uint8Array, client: Uint8Array) =>
    sign(kind === 'Ed25519' ? null : 'sha256', Buffer.concat([data, sha256(client)]), privateKey);

  const credential = {
    id: base64url(credentialId),
    rawId: base64url(credentialId),
    type: 'public-key',
    clientExtensionResults: {},
  } as const;

  return {
    credentialId,
    cose,
    signed,
    /** Registers for a challenge; returns what a browser sends, as JSON. */
    register: (challenge: string, handle: string, twist: Twist = {}): string => {
      userHandle = handle;
      const idLength = Buffer.of(0, credentialId.length);
      const attested = Buffer.concat([Buffer.alloc(16), idLength, credentialId, twist.cose ?? cose]);
      const data = authenticatorData(twist, attested, USUAL_FLAGS | 0x40);
      const response = {
        clientDataJSON: base64url(clientData('webauthn.create', challenge, twist)),
        attestationObject: base64url(attestationOf(data)),
        // Browsers send this too; the server ignores it.
        authenticatorData: base64url(data),
      };
      return JSON.stringify({ ...credential, response } satisfies RegistrationResponseJSON);
    },
    /** Signs a challenge and increments the counter; returns what a browser sends, as JSON. */
    assert: (challenge: string, twist: Twist = {}): string => {
      signCount++;
      const client = clientData('webauthn.get', challenge, twist);
      const data = authenticatorData(twist, Buffer.alloc(0), USUAL_FLAGS);
      const response = {
        clientDataJSON: base64url(client),
        authenticatorData: base64url(data),
        signature: base64url(signed(data, client)),
        ...(userHandle !== null && { userHandle }),
      };
      return JSON.stringify({ ...credential, response } satisfies AuthenticationResponseJSON);
    },
  };
}

/** A passkey in software. */
export type Authenticator = ReturnType<typeof createAuthenticator>;

/** The attestation object with this authenticator data; without a format and statement, it attests nothing. */
export function attestationOf(data: Uint8Array, format = 'none', statement = new Map()): Uint8Array {
  const members = { fmt: format, attStmt: statement, authData: new Uint8Array(data) };
  return isoCBOR.encode(new Map(Object.entries(members)));
}
