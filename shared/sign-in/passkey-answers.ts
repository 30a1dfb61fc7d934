import {
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { decodeAttestationObject } from '@simplewebauthn/server/helpers';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { parseJson } from '../text.ts';
import { ALGORITHMS, type RelyingParty } from './relying-party.ts';

// Parses the JSON that browsers send for passkeys (WebAuthn level 3, section 5.1), and verifies it with
// @simplewebauthn/server as sections 7.1 and 7.2 require, with the checks that the library leaves to its caller.
// Everything here is pure. All errors are thrown as `forbidden`, with a sentence of ours that a person can act on. This
// file is loaded when a passkey is first checked: the library takes 20 ms and 8 MiB.

/** The JSON that a browser sends when a passkey is used, and when it is created, as in the standard. */
type Assertion = AuthenticationResponseJSON;
type Registration = RegistrationResponseJSON;

/** The JSON sent by a browser, and the challenge (base64url) in it. */
type Answer<Sent> = { sent: Sent; challenge: string };

/** The maximum length of the JSON, in characters; with the longest identifier and key it has 6 000. */
const MAX_CHARACTERS = 16_384;
const MAX_IDENTIFIER_BYTES = 1023;
/** Base64url without padding, in its canonical form. */
const bytes = z.string().refine((text) => Buffer.from(text, 'base64url').toString('base64url') === text);

const credential = {
  id: bytes.max(Math.ceil((MAX_IDENTIFIER_BYTES * 4) / 3)),
  rawId: bytes,
  type: z.literal('public-key'),
  clientExtensionResults: z.object({}),
};

const ASSERTION = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: bytes,
    authenticatorData: bytes,
    signature: bytes,
    userHandle: bytes.nullish(),
  }),
});

const REGISTRATION = z.object({
  ...credential,
  response: z.object({ clientDataJSON: bytes, attestationObject: bytes }),
});

/** The browser's data about the requesting page: a page embedded in another site is refused. */
const CLIENT_DATA = z.object({
  challenge: z.string(),
  crossOrigin: z.unknown().optional(),
  topOrigin: z.unknown().optional(),
});

/** Parses the JSON of an assertion, as `PublicKeyCredential.toJSON()` returns it. Throws `forbidden`. */
export function readAssertion(text: string): Answer<Assertion> {
  const { response, ...rest } = read(ASSERTION, text);
  const { userHandle, ...others } = response;
  // Authenticators may omit the handle; some browsers then send null or an empty string.
  const sent = { ...rest, response: { ...others, ...(userHandle && { userHandle }) } };
  return { sent, challenge: clientDataOf(sent).challenge };
}

/** Parses the JSON of a registration. Throws `forbidden`. */
export function readRegistration(text: string): Answer<Registration> {
  const sent = read(REGISTRATION, text);
  return { sent, challenge: clientDataOf(sent).challenge };
}

function read<Sent>(schema: z.ZodType<Sent>, text: string): Sent {
  const { success, data } = schema.safeParse(text.length > MAX_CHARACTERS ? null : parseJson(text));
  if (!success) throw unacceptable('it is malformed');
  return data;
}

/** The browser's data about the requesting page. Throws `forbidden`. */
function clientDataOf(sent: { response: { clientDataJSON: string } }): z.infer<typeof CLIENT_DATA> {
  const json = new TextDecoder().decode(Buffer.from(sent.response.clientDataJSON, 'base64url'));
  const { success, data } = CLIENT_DATA.safeParse(parseJson(json));
  if (!success) throw unacceptable('it is malformed, or lacks a challenge');
  return data;
}

/** The error for an assertion or a registration that is not accepted, with the reason. */
function unacceptable(why: string): AppError {
  return new AppError('forbidden', `This passkey was not accepted: ${why}.`);
}

/** A registered passkey: `publicKey` is COSE, as the library returns it. */
export type Credential = {
  credentialId: Buffer;
  publicKey: Buffer;
  signCount: number;
  /** Whether it may be synced to several devices; this never changes. */
  isBackupEligible: boolean;
};

/**
 * Checks a registration, for which no attestation was requested. `challenge` is base64url, as the browser received it.
 * Returns the credential to store.
 */
export async function checkRegistration(
  party: RelyingParty,
  challenge: string,
  sent: Registration,
): Promise<Credential> {
  refuseEmbedded(sent);
  return withOurErrors(async () => {
    refuseStatement(sent.response.attestationObject);
    const { registrationInfo: made } = await verifyRegistrationResponse({
      response: sent,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      supportedAlgorithmIDs: [...ALGORITHMS],
    });
    if (made === undefined) throw unacceptable('its signature is not valid');
    if (made.credential.id !== sent.id) throw unacceptable('it has two identifiers');
    return {
      credentialId: Buffer.from(sent.id, 'base64url'),
      publicKey: Buffer.from(made.credential.publicKey),
      signCount: made.credential.counter,
      isBackupEligible: made.credentialDeviceType === 'multiDevice',
    };
  });
}

/**
 * Checks an assertion by this passkey for this challenge (base64url). `userHandle` is the one assigned to the admin,
 * base64url. Returns the new signature counter to store.
 */
export async function checkAssertion(
  party: RelyingParty,
  challenge: string,
  passkey: Credential & { userHandle: string },
  sent: Assertion,
): Promise<{ signCount: number }> {
  const { userHandle } = sent.response;
  if (sent.id !== passkey.credentialId.toString('base64url')) throw unacceptable('it is another passkey');
  if (userHandle !== undefined && userHandle !== passkey.userHandle) throw unacceptable("it is another person's");
  refuseEmbedded(sent);
  const { verified, authenticationInfo: info } = await withOurErrors(() =>
    verifyAuthenticationResponse({
      response: sent,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      // Counters are compared below: the library would compare them before it verifies the signature, and reveal them
      // to anybody.
      credential: { id: sent.id, publicKey: new Uint8Array(passkey.publicKey), counter: 0 },
    }),
  );
  if (!verified) throw unacceptable('its signature is not valid');
  if ((info.credentialDeviceType === 'multiDevice') !== passkey.isBackupEligible) {
    throw unacceptable('whether it may be on several devices has changed since its registration');
  }
  // Authenticators without a counter always send 0.
  const isCounting = info.newCounter > 0 || passkey.signCount > 0;
  if (isCounting && info.newCounter <= passkey.signCount) {
    throw unacceptable(
      'its counter went back, so there may be a copy of it; ask the operator to remove you and add you again',
    );
  }
  return { signCount: info.newCounter };
}

/** Refuses pages embedded in another site; the library does so only if the browser names that site. */
function refuseEmbedded(sent: { response: { clientDataJSON: string } }): void {
  const { crossOrigin, topOrigin } = clientDataOf(sent);
  if ((crossOrigin ?? false) !== false || topOrigin !== undefined) {
    throw unacceptable('it was made inside a page of another site');
  }
}

/**
 * Throws if there is an attestation statement, which was not requested: the library would fetch the URLs in its
 * certificates. A self attestation has no certificates, and browsers keep it (section 5.1.3, `none`).
 */
function refuseStatement(attestationObject: string): void {
  const statement = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')));
  const isOwn = statement.get('fmt') === 'packed' && statement.get('attStmt').get('x5c') === undefined;
  if (statement.get('fmt') !== 'none' && !isOwn) throw unacceptable('it describes the device, which was not requested');
}

/** Messages of the library that a person can act on, and our sentences for them. */
const REASONS: readonly [RegExp, string][] = [
  [/^Unexpected (authentication|registration) response type/, 'it was made for another purpose'],
  [/^Unexpected (authentication|registration) response challenge/, 'it is for another challenge'],
  [/^Unexpected (authentication|registration) response origin/, 'it was made on another site'],
  [/^Unexpected RP ID hash/, 'it is for another host'],
  [/^User (not present|presence was required)/, 'user presence was not confirmed'],
  [/^User verification (was )?required/, 'the user was not verified by a PIN, a fingerprint or the like'],
  [/^Unexpected public key alg/, 'its key is not ES256, Ed25519 or RS256'],
  [/^No (credential ID|public key) was provided/, 'it contains no public key'],
];

/** Returns the result of `act`. Any error becomes one of our refusals; the library's messages are never shown. */
async function withOurErrors<Value>(act: () => Promise<Value>): Promise<Value> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const message = error instanceof Error ? error.message : '';
    throw unacceptable(REASONS.find(([pattern]) => pattern.test(message))?.[1] ?? 'it is malformed');
  }
}
