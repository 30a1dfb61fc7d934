import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { AppError } from '../../../shared/errors.ts';
import { type Credential, checkAssertion, checkRegistration } from '../../../shared/passkeys/passkey-answers.ts';
import {
  type Assertion,
  type Registration,
  readAssertion,
  readRegistration,
} from '../../../shared/passkeys/passkey-json.ts';
import { isDer } from '../../../shared/passkeys/passkey-keys.ts';
import passkeysOfBefore from '../../fixtures/passkeys.json' with { type: 'json' };
import {
  type Authenticator,
  attestationObjectOf,
  createAuthenticator,
  type Twist,
  USUAL_FLAGS,
} from '../../support/portal/authenticator.ts';
import { verifyAssertion, verifyRegistration } from '../../support/portal/webauthn.ts';
import { rounds } from '../../support/rounds.ts';

// A second implementation, which does not parse CBOR and verifies with OpenSSL, checks each response, too.

const PARTY = { id: 'api.example.org', origin: 'https://api.example.org' };
const CHALLENGE = Buffer.alloc(32, 7).toString('base64url');
const HANDLE = Buffer.alloc(32, 9).toString('base64url');

const KINDS = ['ES256', 'Ed25519', 'RS256'] as const;

/** Made once, since an RSA key takes 0.2 s; two of each, so that responses can be mixed up. */
const AUTHENTICATORS = Object.fromEntries(
  KINDS.map((kind) => [kind, [createAuthenticator(PARTY, kind), createAuthenticator(PARTY, kind)]]),
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

/** Parses and checks the JSON of a browser. */
const assertBy = (passkey: Credential & { userHandle?: string }, sent: unknown) => {
  const { sent: read } = readAssertion(typeof sent === 'string' ? sent : JSON.stringify(sent));
  return checkAssertion(PARTY, CHALLENGE, { userHandle: HANDLE, ...passkey }, read);
};

const registerBy = (sent: unknown) => {
  const { sent: read } = readRegistration(typeof sent === 'string' ? sent : JSON.stringify(sent));
  return checkRegistration(PARTY, CHALLENGE, read);
};

const assertionOf = (text: string): Assertion => JSON.parse(text);

const registrationOf = (text: string): Registration => JSON.parse(text);

/** The result of the second implementation. */
const othersAssert = (passkey: Credential, { id, response }: Assertion) =>
  verifyAssertion(
    PARTY,
    CHALLENGE,
    { ...passkey, userHandle: HANDLE },
    {
      credentialId: id,
      clientDataJson: response.clientDataJSON,
      authenticatorData: response.authenticatorData,
      signature: response.signature,
      userHandle: response.userHandle ?? null,
    },
  );

const othersRegister = ({ id, response }: Registration, publicKey: Buffer) =>
  verifyRegistration(PARTY, CHALLENGE, {
    credentialId: id,
    clientDataJson: response.clientDataJSON,
    authenticatorData: response.authenticatorData ?? '',
    publicKey: publicKey.toString('base64url'),
  });

/** An empty map, and {"credProtect": 3}. */
const EXTENSIONS = [Buffer.of(0xa0), Buffer.concat([Buffer.of(0xa1, 0x6b), Buffer.from('credProtect'), Buffer.of(3)])];

const anyMember = fc.oneof(fc.string(), fc.boolean(), fc.constant(null), fc.constant(undefined), fc.integer());

/** Errors or unusual behaviour of an authenticator before it signs. */
const twists: fc.Arbitrary<Twist> = fc.oneof(
  fc.record({
    client: fc.dictionary(
      fc.constantFrom('type', 'challenge', 'origin', 'crossOrigin', 'topOrigin', 'more'),
      anyMember,
    ),
  }),
  fc.record({
    client: fc.record({
      origin: fc.constantFrom(
        ...['http://api.example.org', 'https://api.example.org:443', 'https://api.example.org/', 'https://example.org'],
        ...['https://API.example.org', 'https://x.api.example.org', PARTY.origin],
      ),
    }),
  }),
  fc.record({ client: fc.record({ type: fc.constantFrom('webauthn.create', 'webauthn.get', 'payment.get') }) }),
  fc.record({ client: fc.json() }),
  fc.record({ client: fc.string() }),
  fc.record({ flags: fc.integer({ min: 0, max: 0x7f }) }),
  fc.record({ flags: fc.constantFrom(0x05, 0x0d, 0x1d, 0x15, 0x01, 0x04, 0x85, 0x45) }),
  fc.record({ extensions: fc.constantFrom(...EXTENSIONS), flags: fc.constantFrom(USUAL_FLAGS, USUAL_FLAGS | 0x80) }),
  fc.record({ extensions: fc.uint8Array({ minLength: 1, maxLength: 40 }) }),
  fc.record({ signCount: fc.oneof(fc.nat(12), fc.integer({ min: 0, max: 0xffffffff })) }),
  fc.record({
    party: fc.record({ id: fc.constantFrom('example.org', 'x.api.example.org', 'API.example.org', PARTY.id) }),
  }),
);

const PARTS = ['clientDataJSON', 'authenticatorData', 'signature'] as const;

type Change = (bytes: Buffer) => Buffer;

/** Changes to the bytes of one part after it was signed. */
const changes: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(fc.nat(), fc.nat(7)).map<Change>(([at, bit]) => (bytes) => {
    const changed = Buffer.from(bytes);
    const place = at % changed.length;
    changed[place] = (changed[place] as number) ^ (1 << bit);
    return changed;
  }),
  fc.nat().map<Change>((length) => (bytes) => bytes.subarray(0, length % bytes.length)),
  fc.uint8Array({ minLength: 1, maxLength: 3 }).map<Change>((more) => (bytes) => Buffer.concat([bytes, more])),
  fc.uint8Array({ minLength: 0, maxLength: 80 }).map<Change>((other) => () => Buffer.from(other)),
);

const cases = fc.record({
  kind: fc.constantFrom(...KINDS),
  stored: fc.nat(8),
  twist: fc.oneof({ weight: 3, arbitrary: twists }, { weight: 1, arbitrary: fc.constant({} as Twist) }),
  change: fc.option(fc.record({ part: fc.constantFrom(...PARTS), change: changes }), { freq: 1 }),
  mixedUp: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(...PARTS) }),
});

describe('an assertion', () => {
  test.each(KINDS)('by %s is accepted, and increases the counter', async (kind) => {
    const authenticator = createAuthenticator(PARTY, kind);
    let stored = await registerBy(authenticator.register(CHALLENGE, HANDLE));
    expect(stored.publicKey.equals(authenticator.publicKey)).toBe(true);
    for (const signCount of [1, 2]) {
      const sent = authenticator.assert(CHALLENGE);
      expect(othersAssert(stored, assertionOf(sent))).toEqual({ signCount });
      expect(await assertBy(stored, sent)).toEqual({ signCount });
      stored = { ...stored, signCount };
      expect(await faultOf(() => assertBy(stored, sent))).toMatch(/counter went back/);
    }
  });

  test('is refused after any change, exactly if the second implementation refuses it', async () => {
    const seen = { accepted: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(cases, async ({ kind, stored: signCount, twist, change, mixedUp }) => {
        const [authenticator, other] = AUTHENTICATORS[kind];
        const { credentialId, publicKey } = authenticator;
        const stored = { credentialId, publicKey, signCount, isBackupEligible: false };
        const sent = assertionOf(authenticator.assert(CHALLENGE, { signCount: 9, ...twist }));
        const { response } = sent;
        if (mixedUp !== null) {
          response[mixedUp] = assertionOf(other.assert(CHALLENGE, { signCount: 10 })).response[mixedUp];
        }
        if (change !== null) {
          const bytes = Buffer.from(response[change.part], 'base64url');
          if (bytes.length > 0) response[change.part] = change.change(bytes).toString('base64url');
        }
        const fault = await faultOf(() => assertBy(stored, sent));
        const others = await faultOf(() => othersAssert(stored, sent));
        seen[fault === null ? 'accepted' : 'refused']++;
        expect({ sent, fault, isRefused: fault !== null }).toEqual({ sent, fault, isRefused: others !== null });
      }),
      { numRuns: rounds(1200) },
    );
    expect(seen.accepted).toBeGreaterThan(rounds(150));
    expect(seen.refused).toBeGreaterThan(rounds(300));
  });

  const [authenticator] = AUTHENTICATORS.ES256;
  const stored = {
    credentialId: authenticator.credentialId,
    publicKey: authenticator.publicKey,
    signCount: 0,
    isBackupEligible: false,
  };
  const faultWith = (
    twist: Twist,
    { response, ...sent }: { response?: object; [member: string]: unknown } = {},
    made = assertionOf(authenticator.assert(CHALLENGE, twist)),
  ) => faultOf(() => assertBy(stored, { ...made, ...sent, response: { ...made.response, ...response } }));
  /** The key as an authenticator sends it at a registration, after the signed data. */
  const attested = Buffer.concat([Buffer.alloc(16), Buffer.of(0, 20), authenticator.credentialId, authenticator.cose]);

  test.each<[string, Twist, Parameters<typeof faultWith>[1]]>([
    // Not checked by the library.
    ['inside a page of another site', { client: { crossOrigin: true } }, {}],
    ['inside a page of another site', { client: { crossOrigin: 1 } }, {}],
    ['inside a page of another site', { client: { crossOrigin: '' } }, {}],
    ['inside a page of another site', { client: { topOrigin: '' } }, {}],
    ['inside a page of another site', { client: { topOrigin: 'https://elsewhere.example' } }, {}],
    ['on several devices', { flags: USUAL_FLAGS | 0x08 }, {}],
    ['contains a key, which', { flags: USUAL_FLAGS | 0x40, extensions: attested }, {}],
    ["another person's", {}, { response: { userHandle: 'AAAA' } }],
    ['another passkey', {}, { id: 'AAAA', rawId: 'AAAA' }],
    ['malformed', {}, { response: { clientDataJSON: 'not base64url!' } }],
    ['malformed', {}, { response: { authenticatorData: `${'A'.repeat(50)}=` } }],
    ['malformed', {}, { response: { signature: 'AB' } }],
    // Refused by the library, whose messages are not shown.
    ['user was not verified by a PIN', { flags: 0x01 }, {}],
    ['user presence was not confirmed', { flags: 0x04 }, {}],
    ['another host', { party: { id: 'example.org' } }, {}],
    ['another site', { party: { origin: 'http://api.example.org' } }, {}],
    ['another site', { party: { origin: 'https://api.example.org:8443' } }, {}],
    ['another challenge', { client: { challenge: `${CHALLENGE}=` } }, {}],
    ['another purpose', { client: { type: 'webauthn.create' } }, {}],
    ['malformed', { flags: USUAL_FLAGS | 0x10 }, {}],
    ['malformed', { extensions: Buffer.of(0) }, {}],
    ['malformed', {}, { type: 'password' }],
    ['malformed', {}, { rawId: 'AAAA' }],
    ['malformed', {}, { response: { clientDataJSON: 'e30' } }],
  ])('is refused with the reason: %s %j %j', async (why, twist, sent) => {
    expect(await faultWith(twist, sent)).toContain(why);
  });

  test('with an invalid signature does not reveal the passkey’s counter', async () => {
    const sent = assertionOf(authenticator.assert(CHALLENGE));
    sent.response.signature = assertionOf(authenticator.assert(CHALLENGE)).response.signature;
    expect(await faultOf(() => assertBy({ ...stored, signCount: 99_999 }, sent))).toContain('signature is not valid');
  });

  test('is refused if its signature is not in DER, although the library accepts some other encodings', async () => {
    const spelled = async (change: (signature: Buffer, first: Buffer, second: Buffer) => Buffer) => {
      const made = assertionOf(authenticator.assert(CHALLENGE));
      const signature = Buffer.from(made.response.signature, 'base64url');
      const firstEnds = 4 + (signature[3] as number);
      const [first, second] = [signature.subarray(4, firstEnds), signature.subarray(firstEnds + 2)];
      made.response.signature = change(signature, first, second).toString('base64url');
      return faultOf(() => assertBy(stored, made));
    };
    const number = (bytes: Buffer) => Buffer.concat([Buffer.of(2, bytes.length), bytes]);
    const sequence = (...parts: Buffer[]) => {
      const body = Buffer.concat(parts);
      return Buffer.concat([Buffer.of(0x30, body.length), body]);
    };
    const zero = Buffer.of(0);
    const changes: Parameters<typeof spelled>[0][] = [
      (signature) => Buffer.concat([signature, zero]),
      (signature) => Buffer.concat([Buffer.of(0x30, 0x81, signature.length - 2), signature.subarray(2)]),
      (signature) => Buffer.concat([Buffer.of(0x30, 0x80), signature.subarray(2), Buffer.of(0, 0)]),
      (_, first, second) => sequence(number(first), number(second), Buffer.of(5, 0)),
      (_, first, second) => sequence(Buffer.of(2, 0x81, first.length), first, number(second)),
      (_, first, second) => sequence(number(first), Buffer.of(2, 0x81, second.length), second),
      (_, first, second) => sequence(number(Buffer.concat([zero, first])), number(second)),
      (_, first, second) => sequence(number(first), number(Buffer.concat([zero, second]))),
    ];
    for (const change of changes) expect(await spelled(change)).toMatch(/signature is not valid|malformed/);
    // Half of all numbers begin with a zero byte, without which they are negative.
    for (let shortened = 0; shortened < 4; ) {
      let isShorter = false;
      const fault = await spelled((_, first, second) => {
        isShorter = first[0] === 0;
        return sequence(number(isShorter ? first.subarray(1) : first), number(second));
      });
      expect(fault?.includes('signature is not valid') ?? false).toBe(isShorter);
      shortened += Number(isShorter);
    }
    expect(await spelled((_, first, second) => sequence(number(first), number(second)))).toBeNull();
  });

  test('without a user handle is accepted: authenticators may omit it', async () => {
    for (const userHandle of [null, undefined, ''])
      expect(await faultWith({}, { response: { userHandle } })).toBeNull();
  });

  test('by a passkey that was registered before the library was used is accepted, with each kind of key', async () => {
    for (const { userHandle, credentialId, publicKey, signCount, assertion } of passkeysOfBefore) {
      const [id, key] = [Buffer.from(credentialId, 'hex'), Buffer.from(publicKey, 'hex')];
      const passkey = { credentialId: id, publicKey: key, signCount, isBackupEligible: false, userHandle };
      expect(await assertBy(passkey, assertion)).toEqual({ signCount: 1 });
    }
    expect(passkeysOfBefore.map(({ kind }) => kind)).toEqual([...KINDS]);
  });
});

describe('a registration', () => {
  test.each(KINDS)(
    'by %s returns the identifier, key and counter that the second implementation reads',
    async (kind) => {
      const authenticator = AUTHENTICATORS[kind][0];
      for (const more of [{}, { signCount: 5 }, { flags: 0xc5, extensions: EXTENSIONS[1] }] as Twist[]) {
        const twist = { signCount: 0, ...more };
        const sent = authenticator.register(CHALLENGE, HANDLE, twist);
        const ours = await registerBy(sent);
        expect(ours).toEqual(othersRegister(registrationOf(sent), authenticator.publicKey));
        expect(ours).toEqual({
          credentialId: authenticator.credentialId,
          publicKey: authenticator.publicKey,
          signCount: twist.signCount,
          isBackupEligible: false,
        });
      }
    },
  );

  test('that was changed is accepted if the second implementation accepts it, with the same key', async () => {
    const seen = { accepted: 0, refused: 0 };
    const registrations = fc.record({
      kind: fc.constantFrom(...KINDS),
      twist: fc.oneof(fc.constant({} as Twist), twists),
      change: fc.option(
        fc.record({ part: fc.constantFrom('clientDataJSON', 'authenticatorData', 'id'), change: changes }),
        { freq: 2 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(registrations, async ({ kind, twist, change }) => {
        const authenticator = AUTHENTICATORS[kind][0];
        const flags = twist.flags === undefined ? {} : { flags: twist.flags | 0x40 };
        const sent = registrationOf(authenticator.register(CHALLENGE, HANDLE, { ...twist, ...flags }));
        const { response } = sent;
        if (change !== null) {
          const text = change.part === 'id' ? sent.id : (response[change.part] as string);
          const bytes = Buffer.from(text, 'base64url');
          // The second implementation does not read extensions, so it can't find problems in them.
          fc.pre(change.part !== 'authenticatorData' || ((bytes[32] as number) & 0x80) === 0);
          const changed = change.change(bytes).toString('base64url');
          if (change.part === 'id') sent.id = sent.rawId = changed;
          else response[change.part] = changed;
        }
        const data = Buffer.from(response.authenticatorData as string, 'base64url');
        response.attestationObject = attestationObjectOf(data).toString('base64url');
        const fault = await faultOf(() => registerBy(sent));
        const others = await faultOf(() => othersRegister(sent, authenticator.publicKey));
        seen[fault === null ? 'accepted' : 'refused']++;
        // A changed key is still a key, but not the one that the second implementation was given.
        if (others?.includes('it has two keys') && fault === null) return;
        expect({ sent, fault, isRefused: fault !== null }).toEqual({ sent, fault, isRefused: others !== null });
        if (fault === null) expect((await registerBy(sent)).publicKey.equals(authenticator.publicKey)).toBe(true);
      }),
      { numRuns: rounds(500) },
    );
    expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(rounds(40));
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
  const changed = (at: number, value: number) => Buffer.from(es256.with(at, value));
  const small = Buffer.concat([
    Buffer.from('a4010303390100205880', 'hex'),
    Buffer.alloc(128, 0xab),
    Buffer.from('2143010001', 'hex'),
  ]);

  test.each<[string, Uint8Array]>([
    ['P-256 with the algorithm of Ed25519', changed(4, 0x27)],
    ['another curve', changed(6, 0x02)],
    ['another type of key', changed(2, 0x01)],
    ['ES384', Buffer.concat([es256.subarray(0, 3), Buffer.from('033822', 'hex'), es256.subarray(5)])],
    ['ES512', Buffer.concat([es256.subarray(0, 3), Buffer.from('033823', 'hex'), es256.subarray(5)])],
    ['RS1', Buffer.concat([Buffer.from('a401030339fffe20', 'hex'), small.subarray(8)])],
    ['RSA with 1024 bits', small],
    ['an additional member', Buffer.concat([Buffer.of(0xa6), es256.subarray(1), Buffer.of(0x04, 0x00)])],
    ['a point not on the curve', changed(45, (es256[45] as number) ^ 1)],
    ['ML-DSA', Buffer.from('a301070338302041ab', 'hex')],
  ])('is refused with a key that is not ES256, Ed25519 or RS256 in its canonical form: %s', async (_, cose) => {
    expect(await faultWith({ cose })).toMatch(/not ES256, Ed25519 or RS256|malformed/);
  });

  test('is refused for another challenge, origin or host, inside another page, without a PIN, or without a key', async () => {
    expect(await faultWith({ client: { challenge: HANDLE } })).toContain('another challenge');
    expect(await faultWith({ party: { origin: 'https://example.org' } })).toContain('another site');
    expect(await faultWith({ party: { id: 'example.org' } })).toContain('another host');
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
    const faultOfStatement = (format: string, statement: string) => {
      const attestationObject = attestationObjectOf(data, format, Buffer.from(statement, 'hex')).toString('base64url');
      return faultOf(() => registerBy({ ...sent, response: { ...sent.response, attestationObject } }));
    };
    // {"x5c": [h'00']}
    for (const format of ['packed', 'tpm', 'android-key', 'android-safetynet', 'fido-u2f', 'apple', 'new']) {
      expect(await faultOfStatement(format, 'a163783563814100')).toContain('it describes the device');
    }
    // {"alg": -7, "sig": h'00'}: by the passkey itself, but invalid.
    expect(await faultOfStatement('packed', 'a263616c672663736967' + '4100')).toMatch(
      /signature is not valid|malformed/,
    );
    expect(await faultOfStatement('none', 'a163783563814100')).toContain('malformed');
    expect(await faultOfStatement('none', 'a0')).toBeNull();
  });

  test('with a self attestation, which browsers keep, is accepted if its signature is valid', async () => {
    const sent = registrationOf(first.register(CHALLENGE, HANDLE, { isSelfAttested: true }));
    expect((await registerBy(sent)).publicKey.equals(first.publicKey)).toBe(true);
    const object = Buffer.from(sent.response.attestationObject, 'base64url');
    const at = object.indexOf(Buffer.from('sig')) + 20;
    object.writeUInt8((object[at] as number) ^ 1, at);
    sent.response.attestationObject = object.toString('base64url');
    expect(await faultOf(() => registerBy(sent))).toContain('signature is not valid');
  });
});

test.each([
  ['3006020101020101', true],
  ['300702020081020101', true],
  ['3007020101020101', false],
  ['3005020101020101', false],
  ['300702020001020101', false],
  ['3006020181020101', false],
  ['30050200020101', false],
  ['3106020101020101', false],
  ['300602010102010100', false],
  ['30060201010201', false],
  ['', false],
])('two numbers in DER are recognised by their bytes: %s %p', (signature, isSo) => {
  expect(isDer(Buffer.from(signature, 'hex'))).toBe(isSo);
});

describe('hostile responses', () => {
  const bytes = (length: number, value = 0x81) => Buffer.alloc(length, value).toString('base64url');
  const made = registrationOf(AUTHENTICATORS.ES256[0].register(CHALLENGE, HANDLE));
  const withObject = (attestationObject: string) => ({ ...made, response: { ...made.response, attestationObject } });

  test.each<[string, unknown]>([
    ['not JSON', '{'],
    ['JSON of another kind', '[]'],
    ['nothing', 'null'],
    ['deep JSON', '['.repeat(65_000)],
    ['deep JSON that is closed', `${'['.repeat(8_000)}${']'.repeat(8_000)}`],
    ['a long text', { ...made, more: 'x'.repeat(1_000_000) }],
    ['long base64', withObject(bytes(1_000_000))],
    ['a long identifier', { ...made, id: bytes(1024), rawId: bytes(1024) }],
    ['deep CBOR, arrays', withObject(bytes(11_000))],
    ['deep CBOR, maps', withObject(Buffer.from('a101'.repeat(5_500), 'hex').toString('base64url'))],
    ['deep CBOR, tags', withObject(bytes(11_000, 0xc1))],
    ['an array of 2^53 members', withObject('m_________8')],
    ['a map of 2^32 members', withObject(Buffer.from(`ba${'f'.repeat(8)}0000`, 'hex').toString('base64url'))],
    ['bytes that are mostly missing', withObject(Buffer.from('5b00ffffffffffffff00', 'hex').toString('base64url'))],
    ['not a map', withObject('AA')],
    ['nothing at all', withObject('')],
  ])('are refused: %s', async (_, sent) => {
    expect(await faultOf(() => registerBy(sent))).toStartWith('This passkey was not accepted: it is malformed');
  });

  test.each<[string, Buffer]>([
    ['deep extensions', Buffer.alloc(11_000, 0x81)],
    ['deep extensions in maps', Buffer.from('a101'.repeat(5_500), 'hex')],
    [
      'extensions named like inherited members of objects',
      Buffer.concat([Buffer.of(0xa1, 0x69), Buffer.from('__proto__'), Buffer.of(0xa0)]),
    ],
  ])('have no effect in an assertion either: %s', async (name, extensions) => {
    const [authenticator] = AUTHENTICATORS.ES256;
    const { credentialId, publicKey } = authenticator;
    const sent = authenticator.assert(CHALLENGE, { flags: USUAL_FLAGS | 0x80, extensions });
    const fault = await faultOf(() =>
      assertBy({ credentialId, publicKey, signCount: 0, isBackupEligible: false }, sent),
    );
    if (name.includes('deep')) expect(fault).toContain('malformed');
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false);
  });
});
