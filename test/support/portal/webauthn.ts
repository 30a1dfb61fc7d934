import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { AppError } from '../../../shared/errors.ts';
import type { Credential } from '../../../shared/passkeys/passkey-answers.ts';
import type { RelyingParty } from '../../../shared/passkeys/relying-party.ts';
import { type Algorithm, coseKeyOf } from './cose.ts';

// A second implementation of WebAuthn level 3, sections 7.1 and 7.2, with node:crypto and without CBOR, which tests
// compare with the product's. It throws `forbidden` for every problem.

/** The result of `credentials.create` as base64url, with `getAuthenticatorData()` and `getPublicKey()`. */
export type Registration = {
  credentialId: string;
  clientDataJson: string;
  authenticatorData: string;
  publicKey: string;
};

/**
 * The result of `navigator.credentials.get` as base64url; the user handle is null if the authenticator returned none.
 */
export type Assertion = {
  credentialId: string;
  clientDataJson: string;
  authenticatorData: string;
  signature: string;
  userHandle: string | null;
};

/** The authenticator data without its extensions; `rest` follows the counter. */
type AuthenticatorData = { flags: number; signCount: number; rest: Buffer };

/** The bits of the flags (section 6.1). */
const FLAG = {
  userPresent: 0x01,
  userVerified: 0x04,
  backupEligible: 0x08,
  backedUp: 0x10,
  attested: 0x40,
  extensions: 0x80,
} as const;

/** The hash that each algorithm signs; Ed25519 hashes on its own. */
const HASHES: Record<Algorithm, 'sha256' | null> = { ES256: 'sha256', RS256: 'sha256', Ed25519: null };

const COUNTER_AT = 33;
const REST_AT = 37;
const ID_LENGTH_AT = 16;
const MAX_CREDENTIAL_ID_BYTES = 1023;

/**
 * Checks a registration without attestation. `challenge` is base64url, as sent to the browser. The key reported by
 * the browser must be the authenticator's. Returns what has to be stored.
 */
export function verifyRegistration(party: RelyingParty, challenge: string, sent: Registration): Credential {
  checkClientData(party, 'webauthn.create', challenge, bytesOf(sent.clientDataJson));
  const { flags, signCount, rest } = readAuthenticatorData(party, bytesOf(sent.authenticatorData));
  if ((flags & FLAG.attested) === 0) throw unacceptable('it contains no public key');
  const idLength = rest.length < ID_LENGTH_AT + 2 ? 0 : rest.readUInt16BE(ID_LENGTH_AT);
  const idEnd = ID_LENGTH_AT + 2 + idLength;
  const credentialId = rest.subarray(ID_LENGTH_AT + 2, idEnd);
  if (idLength < 1 || idLength > MAX_CREDENTIAL_ID_BYTES || credentialId.length < idLength) {
    throw unacceptable('its identifier is too short or too long');
  }
  if (!credentialId.equals(bytesOf(sent.credentialId))) throw unacceptable('it has two identifiers');
  const publicKey = bytesOf(sent.publicKey);
  const { cose } = coseKeyOf(readPublicKey(publicKey));
  const keyEnd = idEnd + cose.length;
  if (!rest.subarray(idEnd, keyEnd).equals(cose)) throw unacceptable('it has two keys');
  checkExtensions(flags, rest.subarray(keyEnd));
  const isBackupEligible = (flags & FLAG.backupEligible) !== 0;
  return { credentialId: Buffer.from(credentialId), publicKey, signCount, isBackupEligible };
}

/** Checks an assertion for this challenge (base64url). Returns the new signature counter to store. */
export function verifyAssertion(
  party: RelyingParty,
  challenge: string,
  passkey: Credential & { userHandle: string },
  sent: Assertion,
): { signCount: number } {
  const clientDataJson = bytesOf(sent.clientDataJson);
  const authenticatorData = bytesOf(sent.authenticatorData);
  if (!passkey.credentialId.equals(bytesOf(sent.credentialId))) throw unacceptable('it is another passkey');
  if (sent.userHandle !== null && sent.userHandle !== passkey.userHandle) throw unacceptable("it is another person's");
  checkClientData(party, 'webauthn.get', challenge, clientDataJson);
  const { flags, signCount, rest } = readAuthenticatorData(party, authenticatorData);
  if ((flags & FLAG.attested) !== 0) throw unacceptable('it contains a key, which a sign-in must not');
  checkExtensions(flags, rest);
  if (((flags & FLAG.backupEligible) !== 0) !== passkey.isBackupEligible) {
    throw unacceptable('whether it may be on several devices has changed since its registration');
  }
  const key = readPublicKey(passkey.publicKey);
  const signed = Buffer.concat([authenticatorData, createHash('sha256').update(clientDataJson).digest()]);
  if (!verify(HASHES[coseKeyOf(key).algorithm], signed, key, bytesOf(sent.signature))) {
    throw unacceptable('its signature is not valid');
  }
  // Some authenticators do not count, and always return 0.
  const isCounting = signCount > 0 || passkey.signCount > 0;
  if (isCounting && signCount <= passkey.signCount) {
    throw unacceptable('its counter went back, so there may be a copy of it; ask the operator for a new invitation');
  }
  return { signCount };
}

function checkClientData(party: RelyingParty, type: string, challenge: string, json: Buffer): void {
  const client = parseClientData(json);
  if (client.type !== type) throw unacceptable('it was made for another purpose');
  if (client.challenge !== challenge) throw unacceptable('it is for another challenge');
  if (client.origin !== party.origin) throw unacceptable('it was made on another site');
  // This is a page of another site that embeds ours.
  if ((client.crossOrigin ?? false) !== false || client.topOrigin !== undefined) {
    throw unacceptable('it was made inside a page of another site');
  }
}

function parseClientData(json: Buffer): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder().decode(json));
  } catch {
    throw unacceptable('it is malformed');
  }
  if (typeof parsed !== 'object' || parsed === null) throw unacceptable('it is malformed');
  return parsed as Record<string, unknown>;
}

function readAuthenticatorData(party: RelyingParty, data: Buffer): AuthenticatorData {
  if (data.length < REST_AT) throw unacceptable('it is malformed');
  const hash = createHash('sha256').update(party.id).digest();
  if (!data.subarray(0, hash.length).equals(hash)) throw unacceptable('it is for another host');
  const flags = data[hash.length] as number;
  if ((flags & FLAG.userPresent) === 0) throw unacceptable('user presence was not confirmed');
  if ((flags & FLAG.userVerified) === 0) {
    throw unacceptable('the user was not verified by a PIN, a fingerprint or the like');
  }
  if ((flags & FLAG.backedUp) !== 0 && (flags & FLAG.backupEligible) === 0) throw unacceptable('it is malformed');
  return { flags, signCount: data.readUInt32BE(COUNTER_AT), rest: data.subarray(REST_AT) };
}

/** Extensions are never requested, and are ignored if present. Without their flag there must be none. */
function checkExtensions(flags: number, rest: Buffer): void {
  if (((flags & FLAG.extensions) !== 0) !== rest.length > 0) throw unacceptable('it is malformed');
}

function readPublicKey(der: Buffer): KeyObject {
  try {
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    if (key.export({ type: 'spki', format: 'der' }).equals(der)) return key;
  } catch {
    // Refused below.
  }
  throw unacceptable('its key is malformed');
}

/** The bytes of a base64url text without padding, in its one canonical spelling. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text) throw unacceptable('it is malformed');
  return bytes;
}

function unacceptable(why: string): AppError {
  return new AppError('forbidden', `This passkey was not accepted: ${why}.`);
}
