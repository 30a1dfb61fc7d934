import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { parseJson } from '../text.ts';

// Parses the JSON that browsers send for passkeys (WebAuthn level 3, section 5.1); verification follows elsewhere.

/** What a browser sends when a passkey is used, and when one is created, as in the standard. */
export type Assertion = AuthenticationResponseJSON;
export type Registration = RegistrationResponseJSON;

/** What a browser sent, and the challenge (base64url) that it answers. */
export type Answer<Sent> = { sent: Sent; challenge: string };

/** The accepted algorithms of passkeys, in the order of preference sent to browsers, by their COSE numbers. */
export const COSE_ALGORITHMS = { ES256: -7, Ed25519: -8, RS256: -257 } as const;

/** The longest answer, in characters; the one with the longest identifier and key has 6 000. */
const MOST_CHARACTERS = 16_384;
const MOST_IDENTIFIER_BYTES = 1023;
/** Base64url without padding, in its canonical form. */
const bytes = z.string().refine((text) => Buffer.from(text, 'base64url').toString('base64url') === text);

const credential = {
  id: bytes.max(Math.ceil((MOST_IDENTIFIER_BYTES * 4) / 3)),
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

/** The fields needed from what a browser says about the requesting page: a page embedded in another site is refused. */
const CLIENT_DATA = z.object({
  challenge: z.string(),
  crossOrigin: z.unknown().optional(),
  topOrigin: z.unknown().optional(),
});

/**
 * Parses the JSON of an assertion, as `PublicKeyCredential.toJSON()` returns it, without verifying it. Throws
 * `forbidden`.
 */
export function readAssertion(text: string): Answer<Assertion> {
  const { response, ...rest } = read(ASSERTION, text);
  const { userHandle, ...others } = response;
  // Authenticators may omit the handle, which some browsers send as null or empty.
  const sent = { ...rest, response: { ...others, ...(userHandle && { userHandle }) } };
  return { sent, challenge: clientDataOf(sent).challenge };
}

/** Parses the JSON of a registration, without verifying it. Throws `forbidden`. */
export function readRegistration(text: string): Answer<Registration> {
  const sent = read(REGISTRATION, text);
  return { sent, challenge: clientDataOf(sent).challenge };
}

function read<Sent>(schema: z.ZodType<Sent>, text: string): Sent {
  const { success, data } = schema.safeParse(text.length > MOST_CHARACTERS ? null : parseJson(text));
  if (!success) throw unacceptable('it is malformed');
  return data;
}

/** What a browser says about the requesting page. Throws `forbidden`. */
export function clientDataOf(sent: { response: { clientDataJSON: string } }): z.infer<typeof CLIENT_DATA> {
  const json = new TextDecoder().decode(Buffer.from(sent.response.clientDataJSON, 'base64url'));
  const { success, data } = CLIENT_DATA.safeParse(parseJson(json));
  if (!success) throw unacceptable('it is malformed, or for no challenge');
  return data;
}

/** The error for an unacceptable answer of a passkey, with the reason. */
export function unacceptable(why: string): AppError {
  return new AppError('forbidden', `This passkey was not accepted: ${why}.`);
}
