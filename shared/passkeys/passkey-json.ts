import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import { AppError } from '../errors.ts';

// The JSON in which browsers send what a passkey has said (WebAuthn level 3, section 5.1), read and not checked yet.

/** What a browser sends where a passkey is used, and where one is made, as the standard has it. */
export type Assertion = AuthenticationResponseJSON;
export type Registration = RegistrationResponseJSON;

/** What a browser sent, and the challenge (base64url) that it is about. */
export type Answer<Sent> = { sent: Sent; challenge: string };

/** The algorithms of passkeys that are accepted, in the order in which a browser is asked for them: their numbers in COSE. */
export const COSE_ALGORITHMS = { ES256: -7, Ed25519: -8, RS256: -257 } as const;

/** The longest answer, in characters: one with the longest identifier and key has 6 000. */
const MOST_CHARACTERS = 16_384;
const MOST_IDENTIFIER_BYTES = 1023;
/** Base64url without padding, in the one canonical spelling of its bytes. */
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

/** Of what a browser says about the page that asked, what is looked at here: a page inside one of another site is refused. */
const CLIENT_DATA = z.object({
  challenge: z.string(),
  crossOrigin: z.unknown().optional(),
  topOrigin: z.unknown().optional(),
});

/** Reads the JSON of an assertion, which `PublicKeyCredential.toJSON()` gives, and checks nothing yet. Throws `forbidden`. */
export function readAssertion(text: string): Answer<Assertion> {
  const { response, ...rest } = read(ASSERTION, text);
  const { userHandle, ...others } = response;
  // Authenticators may leave the handle out, which some browsers tell as null or as nothing.
  const sent = { ...rest, response: { ...others, ...(userHandle && { userHandle }) } };
  return { sent, challenge: clientDataOf(sent).challenge };
}

/** Reads the JSON of a registration, and checks nothing yet. Throws `forbidden`. */
export function readRegistration(text: string): Answer<Registration> {
  const sent = read(REGISTRATION, text);
  return { sent, challenge: clientDataOf(sent).challenge };
}

function read<Sent>(schema: z.ZodType<Sent>, text: string): Sent {
  const { success, data } = schema.safeParse(text.length > MOST_CHARACTERS ? null : parseJson(text));
  if (!success) throw unacceptable('it is malformed');
  return data;
}

/** What a browser says about the page that asked. Throws `forbidden`. */
export function clientDataOf(sent: { response: { clientDataJSON: string } }): z.infer<typeof CLIENT_DATA> {
  const json = new TextDecoder().decode(Buffer.from(sent.response.clientDataJSON, 'base64url'));
  const { success, data } = CLIENT_DATA.safeParse(parseJson(json));
  if (!success) throw unacceptable('it is malformed, or for no challenge');
  return data;
}

/** The value of a JSON text; null where it is none. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The error for what a passkey has said, with the reason. */
export function unacceptable(why: string): AppError {
  return new AppError('forbidden', `This passkey was not accepted: ${why}.`);
}
