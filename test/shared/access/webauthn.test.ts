import { describe, expect, test } from 'bun:test';
import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server';
import fc from 'fast-check';
import {
  type Assertion,
  type Credential,
  type Registration,
  verifyAssertion,
  verifyRegistration,
} from '../../../shared/access/webauthn.ts';
import { AppError } from '../../../shared/errors.ts';
import {
  type Authenticator,
  attestationObjectOf,
  createAuthenticator,
  type Twist,
  USUAL_FLAGS,
} from '../../support/authenticator.ts';
import { rounds } from '../../support/rounds.ts';

// Each answer is also given to @simplewebauthn/server, which was written by others and reads the key as COSE.

const PARTY = { id: 'api.example.org', origin: 'https://api.example.org' };
const CHALLENGE = Buffer.alloc(32, 7).toString('base64url');
const HANDLE = Buffer.alloc(32, 9).toString('base64url');

const KINDS = ['ES256', 'Ed25519', 'RS256'] as const;

/** Made once, since an RSA key takes 0.2 s; two of each, so that answers can be mixed up. */
const AUTHENTICATORS = Object.fromEntries(
  KINDS.map((kind) => [kind, [createAuthenticator(PARTY, kind), createAuthenticator(PARTY, kind)]]),
) as Record<(typeof KINDS)[number], [Authenticator, Authenticator]>;

/** What is wrong with an answer, as a sentence; null where nothing is. */
function faultOf(act: () => unknown): string | null {
  try {
    act();
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'forbidden') return error.message;
    throw error;
  }
}

async function isAccepted(act: () => Promise<{ verified: boolean }>): Promise<boolean> {
  return act().then(
    ({ verified }) => verified,
    () => false,
  );
}

function othersAccept(authenticator: Authenticator, stored: Credential, sent: Assertion): Promise<boolean> {
  const id = sent.credentialId;
  return isAccepted(() =>
    verifyAuthenticationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: sent.clientDataJson,
          authenticatorData: sent.authenticatorData,
          signature: sent.signature,
        },
      },
      expectedChallenge: CHALLENGE,
      expectedOrigin: PARTY.origin,
      expectedRPID: PARTY.id,
      credential: { id, publicKey: new Uint8Array(authenticator.cose), counter: stored.signCount },
    }),
  );
}

function othersRegister(sent: Registration & { attestationObject: string }) {
  return verifyRegistrationResponse({
    response: {
      id: sent.credentialId,
      rawId: sent.credentialId,
      type: 'public-key',
      clientExtensionResults: {},
      response: { clientDataJSON: sent.clientDataJson, attestationObject: sent.attestationObject },
    },
    expectedChallenge: CHALLENGE,
    expectedOrigin: PARTY.origin,
    expectedRPID: PARTY.id,
  });
}

/** What only we refuse, on purpose; the other implementation leaves it to its caller. */
const STRICTER = /inside a page of another site|another passkey|another person's|on several devices/;

/** Whether an ECDSA signature is two integers in DER and nothing else; the other implementation ignores what follows. */
function isDer(signature: Buffer): boolean {
  const [rLength = 0, sAt = 0] = [signature[3], 4 + (signature[3] ?? 0)];
  const sLength = signature[sAt + 1] ?? 0;
  const heads = [signature[0], signature[1], signature[2], signature[sAt]];
  return heads.join() === [0x30, signature.length - 2, 2, 2].join() && 6 + rLength + sLength === signature.length;
}

/** An empty map, and {"credProtect": 3}. */
const EXTENSIONS = [Buffer.of(0xa0), Buffer.concat([Buffer.of(0xa1, 0x6b), Buffer.from('credProtect'), Buffer.of(3)])];

const anyMember = fc.oneof(fc.string(), fc.boolean(), fc.constant(null), fc.constant(undefined), fc.integer());

/** What an authenticator may do wrong before it signs, or in an unusual way. */
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

const PARTS = ['clientDataJson', 'authenticatorData', 'signature'] as const;

type Change = (bytes: Buffer) => Buffer;

/** What may happen to the bytes of one part after it was signed. */
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
  test.each(KINDS)('by %s is accepted, and counts on', async (kind) => {
    const authenticator = createAuthenticator(PARTY, kind);
    const registered = authenticator.register(CHALLENGE, HANDLE);
    let stored = verifyRegistration(PARTY, CHALLENGE, registered);
    expect(stored.publicKey.equals(authenticator.publicKey)).toBe(true);
    for (const signCount of [1, 2]) {
      const sent = authenticator.assert(CHALLENGE);
      expect(await othersAccept(authenticator, stored, sent)).toBe(true);
      expect(verifyAssertion(PARTY, CHALLENGE, { ...stored, userHandle: HANDLE }, sent)).toEqual({ signCount });
      stored = { ...stored, signCount };
      expect(faultOf(() => verifyAssertion(PARTY, CHALLENGE, { ...stored, userHandle: HANDLE }, sent))).toMatch(
        /counter went back/,
      );
    }
  });

  test('is refused where it was changed, each as an independent implementation says', async () => {
    const seen = { accepted: 0, refused: 0, stricter: 0 };
    await fc.assert(
      fc.asyncProperty(cases, async ({ kind, stored: signCount, twist, change, mixedUp }) => {
        const [authenticator, other] = AUTHENTICATORS[kind];
        const { credentialId, publicKey } = authenticator;
        const stored = { credentialId, publicKey, signCount, isBackupEligible: false };
        const sent = authenticator.assert(CHALLENGE, { signCount: 9, ...twist });
        if (mixedUp !== null) sent[mixedUp] = other.assert(CHALLENGE, { signCount: 10 })[mixedUp];
        if (change !== null) {
          const bytes = Buffer.from(sent[change.part], 'base64url');
          if (bytes.length > 0) sent[change.part] = change.change(bytes).toString('base64url');
        }
        const fault = faultOf(() => verifyAssertion(PARTY, CHALLENGE, { ...stored, userHandle: HANDLE }, sent));
        const isLeftToOthers = kind === 'ES256' && !isDer(Buffer.from(sent.signature, 'base64url'));
        if (isLeftToOthers) expect(fault).not.toBeNull();
        if (isLeftToOthers || (fault !== null && STRICTER.test(fault))) {
          seen.stricter++;
          return;
        }
        seen[fault === null ? 'accepted' : 'refused']++;
        expect({ sent, fault, others: await othersAccept(authenticator, stored, sent) }).toEqual({
          sent,
          fault,
          others: fault === null,
        });
      }),
      { numRuns: rounds(1200) },
    );
    expect(seen.accepted).toBeGreaterThan(rounds(150));
    expect(seen.refused).toBeGreaterThan(rounds(300));
    expect(seen.stricter).toBeLessThan(rounds(200));
  });

  const [authenticator] = AUTHENTICATORS.ES256;
  const stored = {
    credentialId: authenticator.credentialId,
    publicKey: authenticator.publicKey,
    signCount: 0,
    isBackupEligible: false,
    userHandle: HANDLE,
  };
  const faultWith = (twist: Twist, sent: Partial<Assertion> = {}) =>
    faultOf(() => verifyAssertion(PARTY, CHALLENGE, stored, { ...authenticator.assert(CHALLENGE, twist), ...sent }));

  test.each<[string, Twist, Partial<Assertion>]>([
    ['inside a page of another site', { client: { crossOrigin: true } }, {}],
    ['inside a page of another site', { client: { topOrigin: 'https://elsewhere.example' } }, {}],
    ['on several devices', { flags: USUAL_FLAGS | 0x08 }, {}],
    ['did not ask for a PIN', { flags: 0x01 }, {}],
    ['nobody was there', { flags: 0x04 }, {}],
    ['another host', { party: { id: 'example.org' } }, {}],
    ['another site', { party: { origin: 'http://api.example.org' } }, {}],
    ['another challenge', { client: { challenge: `${CHALLENGE}=` } }, {}],
    ['another purpose', { client: { type: 'webauthn.create' } }, {}],
    ["another person's", {}, { userHandle: 'AAAA' }],
    ['another passkey', {}, { credentialId: 'AAAA' }],
    ['malformed', {}, { clientDataJson: 'not base64url!' }],
    ['malformed', {}, { authenticatorData: `${authenticator.assert(CHALLENGE).authenticatorData}=` }],
  ])('is refused, saying why: %s', (why, twist, sent) => {
    expect(faultWith(twist, sent)).toContain(why);
  });

  test('without a user handle is accepted: authenticators may leave it out', () => {
    expect(faultWith({}, { userHandle: null })).toBeNull();
  });
});

describe('a registration', () => {
  test.each(KINDS)('by %s gives the identifier, key and counter that others read in it', async (kind) => {
    for (const more of [{}, { signCount: 5 }, { flags: 0xc5, extensions: EXTENSIONS[1] }] as Twist[]) {
      const twist = { signCount: 0, ...more };
      const sent = AUTHENTICATORS[kind][0].register(CHALLENGE, HANDLE, twist);
      const ours = verifyRegistration(PARTY, CHALLENGE, sent);
      const { registrationInfo } = await othersRegister(sent);
      expect(registrationInfo?.credential.id).toBe(sent.credentialId);
      expect(registrationInfo?.credential.counter).toBe(twist.signCount);
      expect(AUTHENTICATORS[kind][0].cose.equals(registrationInfo?.credential.publicKey ?? Buffer.of())).toBe(true);
      expect(ours).toEqual({
        credentialId: AUTHENTICATORS[kind][0].credentialId,
        publicKey: AUTHENTICATORS[kind][0].publicKey,
        signCount: twist.signCount,
        isBackupEligible: false,
      });
    }
  });

  test('that was changed is never accepted where others refuse it, and its key is the one they read', async () => {
    const seen = { accepted: 0, refused: 0 };
    const registrations = fc.record({
      kind: fc.constantFrom(...KINDS),
      twist: fc.oneof(fc.constant({} as Twist), twists),
      change: fc.option(
        fc.record({
          part: fc.constantFrom('clientDataJson', 'authenticatorData', 'publicKey', 'credentialId'),
          change: changes,
        }),
        { freq: 2 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(registrations, async ({ kind, twist, change }) => {
        const authenticator = AUTHENTICATORS[kind][0];
        const flags = twist.flags === undefined ? {} : { flags: twist.flags | 0x40 };
        const sent = authenticator.register(CHALLENGE, HANDLE, { ...twist, ...flags });
        if (change !== null) {
          const part = change.part as 'clientDataJson' | 'authenticatorData' | 'publicKey' | 'credentialId';
          const bytes = Buffer.from(sent[part], 'base64url');
          // Extensions are not read, so that nothing can be wrong with them.
          fc.pre(part !== 'authenticatorData' || ((bytes[32] as number) & 0x80) === 0);
          sent[part] = change.change(bytes).toString('base64url');
        }
        const attestationObject = attestationObjectOf(Buffer.from(sent.authenticatorData, 'base64url')).toString(
          'base64url',
        );
        const fault = faultOf(() => verifyRegistration(PARTY, CHALLENGE, sent));
        const others = await othersRegister({ ...sent, attestationObject }).catch(() => null);
        seen[fault === null ? 'accepted' : 'refused']++;
        if (fault === null) {
          expect(others?.verified).toBe(true);
          expect(others?.registrationInfo?.credential.id).toBe(sent.credentialId);
          expect(authenticator.cose.equals(others?.registrationInfo?.credential.publicKey ?? Buffer.of())).toBe(true);
        } else if (change === null && !STRICTER.test(fault)) expect(others?.verified ?? false).toBe(false);
      }),
      { numRuns: rounds(500) },
    );
    expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(rounds(40));
  });

  const [first, second] = AUTHENTICATORS.ES256;

  test('is refused where browser and authenticator tell two keys or two identifiers, or another kind of key', () => {
    const sent = first.register(CHALLENGE, HANDLE);
    const others = second.register(CHALLENGE, HANDLE);
    const fault = (changed: Partial<Registration>) =>
      faultOf(() => verifyRegistration(PARTY, CHALLENGE, { ...sent, ...changed }));
    expect(fault({ publicKey: others.publicKey })).toContain('two keys');
    expect(fault({ credentialId: others.credentialId })).toContain('two identifiers');
    expect(fault({ publicKey: AUTHENTICATORS.Ed25519[0].publicKey.toString('base64url') })).toContain('two keys');
    const P384 = 'MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE';
    expect(fault({ publicKey: P384 })).toContain('key is malformed');
    expect(fault({})).toBeNull();
  });

  test('is refused for another challenge, origin or host, inside another page, without a PIN, or with no key', () => {
    const fault = (twist: Twist) =>
      faultOf(() => verifyRegistration(PARTY, CHALLENGE, first.register(CHALLENGE, HANDLE, twist)));
    expect(fault({ client: { challenge: HANDLE } })).toContain('another challenge');
    expect(fault({ party: { origin: 'https://example.org' } })).toContain('another site');
    expect(fault({ party: { id: 'example.org' } })).toContain('another host');
    expect(fault({ client: { crossOrigin: true } })).toContain('inside a page');
    expect(fault({ client: { type: 'webauthn.get' } })).toContain('another purpose');
    expect(fault({ flags: 0x41 })).toContain('did not ask for a PIN');
    expect(fault({ flags: 0x05 })).toContain('tells no key');
  });
});
