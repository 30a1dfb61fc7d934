import { isIP } from 'node:net';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { parseJson } from '../text.ts';

// The site that passkeys are bound to, and what it accepts: the JSON that browsers send (WebAuthn level 3, section 5.1) is
// verified with @simplewebauthn/server, with the checks that the library leaves to its caller. All errors of that are thrown
// as `forbidden`, with a sentence of ours that a person can act on. The library is loaded when a passkey is first checked:
// it takes 20 ms and 8 MiB.

/** The accepted algorithms of passkeys, ES256, Ed25519 and RS256 by their COSE numbers, the preferred one first. */
export const ALGORITHMS = [-7, -8, -257] as const;

/** The site that passkeys are bound to: its host, and the origin of its pages. */
export type RelyingParty = { id: string; origin: string };

/**
 * The site that passkeys are bound to, from PUBLIC_URL. Throws `refused`, with a sentence that says what to set, if
 * browsers don't support passkeys for it.
 */
export function relyingPartyOf(publicUrl: string): RelyingParty {
  const { protocol, hostname, origin, port } = new URL(publicUrl);
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  const local = `http://localhost${port === '' ? '' : `:${port}`}`;
  if (isAddress) {
    throw new AppError(
      'refused',
      `Browsers don't support passkeys for IP addresses, and PUBLIC_URL is ${publicUrl}: set PUBLIC_URL to an https URL with a host name, or to ${local} to try it out on this machine, and restart the server.`,
    );
  }
  // Browsers trust these without HTTPS: https://w3c.github.io/webappsec-secure-contexts/#is-origin-trustworthy
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (protocol !== 'https:' && !isLocal) {
    throw new AppError(
      'refused',
      `Browsers support passkeys only over HTTPS, and PUBLIC_URL is ${publicUrl}: set PUBLIC_URL to the https URL of the service, and restart the server.`,
    );
  }
  return { id: hostname, origin };
}

/** Throws if a challenge (base64url) is not open. */
type TakeChallenge = (challenge: string) => void;

/** A registered passkey: `publicKey` is COSE, as the library returns it. */
export type Credential = {
  credentialId: Buffer;
  publicKey: Buffer;
  signCount: number;
  /** Whether it may be synced to several devices; this never changes. */
  isBackupEligible: boolean;
};

/** What is read before the library checks the whole. */
const ANSWER = z.looseObject({ id: z.string(), response: z.looseObject({ clientDataJSON: z.string() }) });

/** Parses the JSON of a credential, as `PublicKeyCredential.toJSON()` returns it. Throws `forbidden`. */
export function readAnswer<Sent extends AuthenticationResponseJSON | RegistrationResponseJSON>(text: string): Sent {
  const { success, data } = ANSWER.safeParse(parseJson(text));
  if (!success) throw unacceptable('it is malformed');
  return data as unknown as Sent;
}

/** The error for an assertion or a registration that is not accepted, with the reason. */
function unacceptable(why: string): AppError {
  return new AppError('forbidden', `This passkey was not accepted: ${why}.`);
}

/** Checks a registration, for which no attestation was requested. Returns the credential to store. */
export function checkRegistration(
  party: RelyingParty,
  sent: RegistrationResponseJSON,
  takeChallenge: TakeChallenge,
): Promise<Credential> {
  return withOurErrors(async () => {
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    await refuseEmbedded(sent);
    await refuseStatement(sent.response.attestationObject);
    const { registrationInfo: made } = await verifyRegistrationResponse({
      response: sent,
      ...expected(party, takeChallenge),
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
 * Checks an assertion by this passkey. `userHandle` is the one assigned to the admin, base64url. Returns the new signature
 * counter to store.
 */
export function checkAssertion(
  party: RelyingParty,
  sent: AuthenticationResponseJSON,
  passkey: Credential & { userHandle: string },
  takeChallenge: TakeChallenge,
): Promise<number> {
  return withOurErrors(async () => {
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    await refuseEmbedded(sent);
    const { userHandle } = sent.response;
    // Authenticators may omit the handle; some browsers then send null or an empty string.
    if (userHandle && userHandle !== passkey.userHandle) throw unacceptable("it is another person's");
    const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
      response: sent,
      ...expected(party, takeChallenge),
      // Counters are compared below: the library would compare them before it verifies the signature, and reveal them
      // to anybody.
      credential: { id: sent.id, publicKey: new Uint8Array(passkey.publicKey), counter: 0 },
    });
    if (!verified) throw unacceptable('its signature is not valid');
    if ((info.credentialDeviceType === 'multiDevice') !== passkey.isBackupEligible) {
      throw unacceptable('whether it may be on several devices has changed since its registration');
    }
    // Authenticators without a counter always send 0.
    if (passkey.signCount > 0 && info.newCounter <= passkey.signCount) {
      throw unacceptable(
        'its counter went back, so there may be a copy of it; ask the operator to remove you and add you again',
      );
    }
    return info.newCounter;
  });
}

function expected({ origin, id }: RelyingParty, takeChallenge: TakeChallenge) {
  const expectedChallenge = (challenge: string) => {
    takeChallenge(challenge);
    return true;
  };
  return { expectedChallenge, expectedOrigin: origin, expectedRPID: id };
}

/** Refuses pages embedded in another site; the library does so only if the browser names that site. */
async function refuseEmbedded(sent: { response: { clientDataJSON: string } }): Promise<void> {
  const { decodeClientDataJSON } = await import('@simplewebauthn/server/helpers');
  const { crossOrigin = false, topOrigin } = decodeClientDataJSON(sent.response.clientDataJSON);
  if (crossOrigin !== false || topOrigin !== undefined) {
    throw unacceptable('it was made inside a page of another site');
  }
}

/**
 * Throws if there is an attestation statement, which was not requested: the library would fetch the URLs in its
 * certificates. A self attestation has no certificates, and browsers keep it (section 5.1.3, `none`).
 */
async function refuseStatement(attestationObject: string): Promise<void> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  const statement = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')));
  const isOwn = statement.get('fmt') === 'packed' && statement.get('attStmt').get('x5c') === undefined;
  if (statement.get('fmt') !== 'none' && !isOwn) throw unacceptable('it describes the device, which was not requested');
}

/** Messages of the library that a person can act on, and our sentences for them. */
const REASONS: readonly [RegExp, string][] = [
  [/^Unexpected (authentication|registration) response type/, 'it was made for another purpose'],
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
