import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { parseJson } from '../text.ts';

// Parses the JSON that browsers send for passkeys (WebAuthn level 3, section 5.1), without verifying it.

/** The JSON that a browser sends when a passkey is used, and when it is created, as in the standard. */
export type Assertion = AuthenticationResponseJSON;
export type Registration = RegistrationResponseJSON;

/** The JSON sent by a browser, and the challenge (base64url) in it. */
export type Answer<Sent> = { sent: Sent; challenge: string };

/** The accepted algorithms of passkeys with their COSE numbers, in the order of preference sent to browsers. */
export const COSE_ALGORITHMS = { ES256: -7, Ed25519: -8, RS256: -257 } as const;

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
export function clientDataOf(sent: { response: { clientDataJSON: string } }): z.infer<typeof CLIENT_DATA> {
  const json = new TextDecoder().decode(Buffer.from(sent.response.clientDataJSON, 'base64url'));
  const { success, data } = CLIENT_DATA.safeParse(parseJson(json));
  if (!success) throw unacceptable('it is malformed, or lacks a challenge');
  return data;
}

/** The error for an assertion or a registration that is not accepted, with the reason. */
export function unacceptable(why: string): AppError {
  return new AppError('forbidden', `This passkey was not accepted: ${why}.`);
}
