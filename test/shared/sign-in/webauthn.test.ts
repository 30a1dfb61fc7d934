import { describe, expect, test } from 'bun:test';
import { generateKeyPairSync, sign } from 'node:crypto';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { AppError } from '../../../shared/errors.ts';
import { type Credential, checkAssertion, checkRegistration, readAnswer } from '../../../shared/sign-in/webauthn.ts';
import {
  type Authenticator,
  attestationOf,
  bytesOf,
  coseOf,
  createAuthenticator,
  es256Keys,
  type PasskeyKeys,
  type Twist,
  USUAL_FLAGS,
} from '../../support/authenticator.ts';

// What browsers send for passkeys is accepted only as WebAuthn says.

const PARTY = { id: 'api.example.org', origin: 'https://api.example.org' };
const CHALLENGE = Buffer.alloc(32, 7).toString('base64url');
const HANDLE = Buffer.alloc(32, 9).toString('base64url');

function ed25519Keys(): PasskeyKeys {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const { x } = publicKey.export({ format: 'jwk' });
  return { cose: coseOf({ 1: 1, 3: -8, '-1': 6, '-2': bytesOf(x) }), sign: (data) => sign(null, data, privateKey) };
}

/** As RFC 8230 says. */
function rsaKeys(): PasskeyKeys {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { n, e } = publicKey.export({ format: 'jwk' });
  return {
    cose: coseOf({ 1: 3, 3: -257, '-1': bytesOf(n), '-2': bytesOf(e) }),
    sign: (data) => sign('sha256', data, privateKey),
  };
}

const KEYS = { ES256: es256Keys, Ed25519: ed25519Keys, RS256: rsaKeys } as const;
const KINDS = ['ES256', 'Ed25519', 'RS256'] as const;

/** Made once, since an RSA key takes 0.2 s; two of each, so that responses can be mixed up. */
const AUTHENTICATORS = Object.fromEntries(
  KINDS.map((kind) => [kind, [createAuthenticator(PARTY, KEYS[kind]()), createAuthenticator(PARTY, KEYS[kind]())]]),
) as Record<(typeof KINDS)[number], [Authenticator, Authenticator]>;

/** The problem of a response, as a sentence; null if it is accepted. */
async function faultOf(act: () => unknown): Promise<string | null> {
  try {
    await act();
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'forbidden') return error.message;
    throw error;
  }
}

const takeChallenge = (challenge: string) => {
  if (challenge !== CHALLENGE) throw new AppError('forbidden', 'another challenge');
};

/** Parses and checks the JSON of a browser. */
const assertBy = (passkey: Credential & { userHandle?: string }, sent: unknown) => {
  const read = readAnswer<AuthenticationResponseJSON>(typeof sent === 'string' ? sent : JSON.stringify(sent));
  return checkAssertion(PARTY, read, { userHandle: HANDLE, ...passkey }, takeChallenge);
};

const registerBy = async (sent: unknown) => {
  const read = readAnswer<RegistrationResponseJSON>(typeof sent === 'string' ? sent : JSON.stringify(sent));
  return await checkRegistration(PARTY, read, takeChallenge);
};

const assertionOf = (text: string): AuthenticationResponseJSON => JSON.parse(text);

const registrationOf = (text: string): RegistrationResponseJSON => JSON.parse(text);

describe('an assertion', () => {
  test.each(KINDS)('by %s is accepted, and increases the counter', async (kind) => {
    const authenticator = createAuthenticator(PARTY, KEYS[kind]());
    let stored = await registerBy(authenticator.register(CHALLENGE, HANDLE));
    for (const signCount of [1, 2]) {
      const sent = authenticator.assert(CHALLENGE);
      expect(await assertBy(stored, sent)).toBe(signCount);
      stored = { ...stored, signCount };
      expect(await faultOf(() => assertBy(stored, sent))).toMatch(/counter went back/);
    }
  });

  test.each(KINDS)(
    'by %s is refused after a change of any signed part, and with parts of another passkey',
    async (kind) => {
      const [one, other] = AUTHENTICATORS[kind];
      const stored = {
        credentialId: one.credentialId,
        publicKey: Buffer.from(one.cose),
        signCount: 0,
        isBackupEligible: false,
      };
      for (const part of ['clientDataJSON', 'authenticatorData', 'signature'] as const) {
        const sent = assertionOf(one.assert(CHALLENGE));
        const bytes = Buffer.from(sent.response[part], 'base64url');
        for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
          const changed = Buffer.from(bytes.with(at, (bytes[at] as number) ^ 1)).toString('base64url');
          const fault = await faultOf(() =>
            assertBy(stored, { ...sent, response: { ...sent.response, [part]: changed } }),
          );
          expect([part, at, fault === null]).toEqual([part, at, false]);
        }
      }
      const theirs = { ...assertionOf(other.assert(CHALLENGE)), id: one.credentialId.toString('base64url') };
      expect(await faultOf(() => assertBy(stored, { ...theirs, rawId: theirs.id }))).toContain(
        'signature is not valid',
      );
    },
  );

  const [authenticator] = AUTHENTICATORS.ES256;
  const stored = {
    credentialId: authenticator.credentialId,
    publicKey: Buffer.from(authenticator.cose),
    signCount: 0,
    isBackupEligible: false,
  };
  const faultWith = (
    twist: Twist,
    { response, ...sent }: { response?: object; [member: string]: unknown } = {},
    made = assertionOf(authenticator.assert(CHALLENGE, twist)),
  ) => faultOf(() => assertBy(stored, { ...made, ...sent, response: { ...made.response, ...response } }));
  test.each<[string, Twist, Parameters<typeof faultWith>[1]]>([
    // Not checked by the library.
    ['inside a page of another site', { client: { crossOrigin: true } }, {}],
    ['inside a page of another site', { client: { crossOrigin: 1 } }, {}],
    ['inside a page of another site', { client: { crossOrigin: '' } }, {}],
    ['inside a page of another site', { client: { topOrigin: '' } }, {}],
    ['inside a page of another site', { client: { topOrigin: 'https://elsewhere.example' } }, {}],
    ['on several devices', { flags: USUAL_FLAGS | 0x08 }, {}],
    ["another person's", {}, { response: { userHandle: 'AAAA' } }],
    ['malformed', {}, { response: { clientDataJSON: 'not base64url!' } }],
    ['malformed', {}, { response: { signature: 'AB' } }],
    // Refused by the library, whose messages are not shown.
    ['user was not verified by a PIN', { flags: 0x01 }, {}],
    ['user presence was not confirmed', { flags: 0x04 }, {}],
    ['another host', { host: 'example.org' }, {}],
    ['another site', { client: { origin: 'http://api.example.org' } }, {}],
    ['another site', { client: { origin: 'https://api.example.org:8443' } }, {}],
    ['another challenge', { client: { challenge: `${CHALLENGE}=` } }, {}],
    ['another purpose', { client: { type: 'webauthn.create' } }, {}],
    ['malformed', { flags: USUAL_FLAGS | 0x10 }, {}],
    ['malformed', { extensions: Buffer.of(0) }, {}],
    ['malformed', {}, { type: 'password' }],
    ['malformed', {}, { rawId: 'AAAA' }],
    ['another purpose', {}, { response: { clientDataJSON: 'e30' } }],
  ])('is refused with the reason: %s %j %j', async (why, twist, sent) => {
    expect(await faultWith(twist, sent)).toContain(why);
  });

  test('with an invalid signature does not reveal the passkey’s counter', async () => {
    const sent = assertionOf(authenticator.assert(CHALLENGE));
    sent.response.signature = assertionOf(authenticator.assert(CHALLENGE)).response.signature;
    expect(await faultOf(() => assertBy({ ...stored, signCount: 99_999 }, sent))).toContain('signature is not valid');
  });

  test('without a user handle is accepted: authenticators may omit it', async () => {
    for (const userHandle of [null, undefined, ''])
      expect(await faultWith({}, { response: { userHandle } })).toBeNull();
  });
});

describe('a registration', () => {
  test.each(KINDS)('by %s returns the identifier, the key as the library gives it, and the counter', async (kind) => {
    const [{ register, credentialId, cose }] = AUTHENTICATORS[kind];
    for (const twist of [{ signCount: 0 }, { signCount: 5 }] as Twist[]) {
      expect(await registerBy(register(CHALLENGE, HANDLE, twist))).toEqual({
        credentialId,
        publicKey: Buffer.from(cose),
        signCount: twist.signCount ?? 0,
        isBackupEligible: false,
      });
    }
  });

  const [first, second] = AUTHENTICATORS.ES256;
  const faultWith = (twist: Twist) => faultOf(() => registerBy(first.register(CHALLENGE, HANDLE, twist)));

  test('is refused if browser and authenticator send different identifiers', async () => {
    const sent = registrationOf(first.register(CHALLENGE, HANDLE));
    const id = second.credentialId.toString('base64url');
    expect(await faultOf(() => registerBy({ ...sent, id, rawId: id }))).toContain('two identifiers');
    expect(await faultOf(() => registerBy(sent))).toBeNull();
  });

  const es256 = first.cose;
  test.each<[string, Uint8Array]>([
    ['ES384', Buffer.concat([es256.subarray(0, 3), Buffer.from('033822', 'hex'), es256.subarray(5)])],
    ['ES512', Buffer.concat([es256.subarray(0, 3), Buffer.from('033823', 'hex'), es256.subarray(5)])],
    ['ML-DSA', Buffer.from('a301070338302041ab', 'hex')],
  ])('is refused with a key that is not ES256, Ed25519 or RS256: %s', async (_, cose) => {
    const sent = createAuthenticator(PARTY, { cose, sign: () => cose }).register(CHALLENGE, HANDLE);
    expect(await faultOf(() => registerBy(sent))).toMatch(/not ES256, Ed25519 or RS256|malformed/);
  });

  test('is refused for another challenge, origin or host, inside another page, without a PIN, or without a key', async () => {
    expect(await faultWith({ client: { challenge: HANDLE } })).toContain('another challenge');
    expect(await faultWith({ client: { origin: 'https://example.org' } })).toContain('another site');
    expect(await faultWith({ host: 'example.org' })).toContain('another host');
    expect(await faultWith({ client: { crossOrigin: true } })).toContain('inside a page');
    expect(await faultWith({ client: { topOrigin: 'https://example.org' } })).toContain('inside a page');
    expect(await faultWith({ client: { type: 'webauthn.get' } })).toContain('another purpose');
    expect(await faultWith({ flags: 0x41 })).toContain('user was not verified by a PIN');
    expect(await faultWith({ flags: 0x44 })).toContain('user presence was not confirmed');
    expect(await faultWith({ flags: 0x05 })).toMatch(/malformed|contains no public key/);
  });

  test('is refused with an attestation statement, which was not requested, before the statement is read', async () => {
    const sent = registrationOf(first.register(CHALLENGE, HANDLE));
    const data = Buffer.from(sent.response.authenticatorData as string, 'base64url');
    const faultOfStatement = (format: string, statement: [string, unknown][]) => {
      const attestationObject = attestationOf(data, format, new Map(statement)).toBase64({ alphabet: 'base64url' });
      return faultOf(() => registerBy({ ...sent, response: { ...sent.response, attestationObject } }));
    };
    const certificate: [string, unknown][] = [['x5c', [new Uint8Array(1)]]];
    for (const format of ['packed', 'tpm', 'android-key', 'android-safetynet', 'fido-u2f', 'apple', 'new']) {
      expect(await faultOfStatement(format, certificate)).toContain('it describes the device');
    }
    expect(await faultOfStatement('none', certificate)).toContain('malformed');
    expect(await faultOfStatement('none', [])).toBeNull();
  });

  test('with a self attestation, which browsers keep, is accepted if its signature is valid', async () => {
    const sent = registrationOf(first.register(CHALLENGE, HANDLE));
    const data = Buffer.from(sent.response.authenticatorData as string, 'base64url');
    const signature = new Uint8Array(first.signed(data, Buffer.from(sent.response.clientDataJSON, 'base64url')));
    const attest = (sig: Uint8Array) => {
      const statement = new Map<string, unknown>([
        ['alg', -7],
        ['sig', sig],
      ]);
      const attestationObject = attestationOf(data, 'packed', statement).toBase64({ alphabet: 'base64url' });
      return registerBy({ ...sent, response: { ...sent.response, attestationObject } });
    };
    expect((await attest(signature)).publicKey.equals(first.cose)).toBe(true);
    const changed = signature.with(20, (signature[20] as number) ^ 1);
    expect(await faultOf(() => attest(changed))).toContain('signature is not valid');
    expect(await faultOf(() => attest(new Uint8Array(1)))).toMatch(/signature is not valid|malformed/);
  });
});

describe('hostile responses', () => {
  const deep = Buffer.alloc(11_000, 0x81).toString('base64url');
  const made = registrationOf(AUTHENTICATORS.ES256[0].register(CHALLENGE, HANDLE));
  const withObject = (attestationObject: string) => ({ ...made, response: { ...made.response, attestationObject } });

  test.each<[string, unknown]>([
    ['not JSON', '{'],
    ['JSON of another kind', '[]'],
    ['deep JSON', '['.repeat(65_000)],
    ['deep CBOR, arrays', withObject(deep)],
    ['deep CBOR, maps', withObject(Buffer.from('a101'.repeat(5_500), 'hex').toString('base64url'))],
    ['a map of 2^32 members', withObject(Buffer.from(`ba${'f'.repeat(8)}0000`, 'hex').toString('base64url'))],
    ['bytes that are mostly missing', withObject(Buffer.from('5b00ffffffffffffff00', 'hex').toString('base64url'))],
    ['not a map', withObject('AA')],
  ])('are refused: %s', async (_, sent) => {
    expect(await faultOf(() => registerBy(sent))).toStartWith('This passkey was not accepted: it is malformed');
  });

  test.each<[string, Buffer]>([
    ['deep extensions', Buffer.alloc(11_000, 0x81)],
    [
      'extensions named like inherited members of objects',
      Buffer.concat([Buffer.of(0xa1, 0x69), Buffer.from('__proto__'), Buffer.of(0xa0)]),
    ],
  ])('have no effect in an assertion either: %s', async (name, extensions) => {
    const [authenticator] = AUTHENTICATORS.ES256;
    const { credentialId, cose } = authenticator;
    const publicKey = Buffer.from(cose);
    const sent = authenticator.assert(CHALLENGE, { flags: USUAL_FLAGS | 0x80, extensions });
    const fault = await faultOf(() =>
      assertBy({ credentialId, publicKey, signCount: 0, isBackupEligible: false }, sent),
    );
    if (name.includes('deep')) expect(fault).toContain('malformed');
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false);
  });
});
