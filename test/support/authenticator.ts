import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import type { RelyingParty } from '../../shared/sign-in/webauthn.ts';

/** Deviations of a faulty authenticator, all applied before it signs. */
export type Twist = {
  /** Replaces members of the client data. */
  client?: Record<string, unknown>;
  flags?: number;
  signCount?: number;
  /** The host that it signs for. */
  host?: string;
  /** Appended to the authenticator data. */
  extensions?: Uint8Array;
};

/** User present and verified. */
export const USUAL_FLAGS = 0x05;

/** The keys of a passkey: the public one as COSE (RFC 9053) in CBOR, and what signs by the private one. */
export type PasskeyKeys = { cose: Uint8Array; sign: (data: Uint8Array) => Uint8Array };

/** Keys of the kind that most passkeys have. */
export function es256Keys(): PasskeyKeys {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x, y } = publicKey.export({ format: 'jwk' });
  const cose = coseOf({ 1: 2, 3: -7, '-1': 1, '-2': bytesOf(x), '-3': bytesOf(y) });
  return { cose, sign: (data) => sign('sha256', data, privateKey) };
}

/** A COSE key with these members, by their labels. */
export function coseOf(members: Record<string, number | Uint8Array>): Uint8Array {
  return isoCBOR.encode(new Map(Object.entries(members).map(([label, value]) => [Number(label), value])));
}

/** Bytes in base64url. */
export const bytesOf = (text = '') => new Uint8Array(Buffer.from(text, 'base64url'));

const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest();

/** One passkey in software (ES256 by default), as a browser offers it to a page of this site. */
export function createAuthenticator(party: RelyingParty, keys = es256Keys()) {
  const credentialId = randomBytes(20);
  const credential = { id: base64url(credentialId), rawId: base64url(credentialId), type: 'public-key' };
  let signCount = 0;
  let userHandle: string | undefined;

  const clientData = (type: string, challenge: string, { client }: Twist) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: party.origin, crossOrigin: false, ...client }));

  const authenticatorData = (twist: Twist, usualFlags: number, ...more: Uint8Array[]) => {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(twist.signCount ?? signCount);
    const head = [sha256(twist.host ?? party.id), Buffer.of(twist.flags ?? usualFlags), counter];
    return Buffer.concat([...head, ...more, twist.extensions ?? Buffer.alloc(0)]);
  };

  const signed = (data: Uint8Array, client: Uint8Array) => keys.sign(Buffer.concat([data, sha256(client)]));

  const sent = (bytes: Record<string, Uint8Array>, others: object = {}) => {
    const texts = Object.fromEntries(Object.entries(bytes).map(([name, value]) => [name, base64url(value)]));
    return JSON.stringify({ ...credential, clientExtensionResults: {}, response: { ...texts, ...others } });
  };

  return {
    credentialId,
    cose: keys.cose,
    signed,
    /** Registers for a challenge; returns what a browser sends, as JSON. */
    register: (challenge: string, handle: string, twist: Twist = {}): string => {
      userHandle = handle;
      const attested = [Buffer.alloc(16), Buffer.of(0, credentialId.length), credentialId, keys.cose];
      const data = authenticatorData(twist, USUAL_FLAGS | 0x40, ...attested);
      const clientDataJSON = clientData('webauthn.create', challenge, twist);
      // Browsers send the data outside of the attestation, too; the server ignores it there.
      return sent({ clientDataJSON, attestationObject: attestationOf(data), authenticatorData: data });
    },
    /** Signs a challenge and increments the counter; returns what a browser sends, as JSON. */
    assert: (challenge: string, twist: Twist = {}): string => {
      signCount++;
      const clientDataJSON = clientData('webauthn.get', challenge, twist);
      const data = authenticatorData(twist, USUAL_FLAGS);
      const signature = signed(data, clientDataJSON);
      return sent({ clientDataJSON, authenticatorData: data, signature }, { userHandle });
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
