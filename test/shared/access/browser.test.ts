import { expect, test } from 'bun:test';
import type { Access } from '../../../shared/access/access.ts';
import { addAdmin, unconfirmedPasskey } from '../../../shared/access/admins.ts';
import { beginSignIn, signInByPasskey } from '../../../shared/access/assertions.ts';
import { COSE_ALGORITHMS } from '../../../shared/access/cose.ts';
import { beginRegistration, register } from '../../../shared/access/enrolments.ts';
import { confirmPasskey } from '../../../shared/access/passkeys.ts';
import type { Assertion, Registration } from '../../../shared/access/webauthn.ts';
import { CLIENT, testAccess } from '../../support/access.ts';
import { onBox } from '../../support/actors.ts';
import { secretOf } from '../../support/admins.ts';
import { addAuthenticator, startBrowser, toolsOf } from '../../support/browser.ts';
import { hasChromium } from '../../support/chromium.ts';

// What a real browser says with its own virtual authenticator is accepted, for each kind of key.

const html = '<!doctype html><title>Passkeys</title><link rel="icon" href="data:,">';
const site = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: () => new Response(html, { headers: { 'Content-Type': 'text/html' } }),
});
const publicUrl = `http://localhost:${site.port}`;
const openPage = hasChromium ? await startBrowser() : null;

/** The functions below run in the page, so they know nothing from here but their argument. */
type Options = {
  challenge: string;
  party: { id: string };
  user: { handle: string; name: string };
  algorithms: number[];
};

/** What of the page's own objects they use. */
type Made = {
  id: string;
  response: { clientDataJSON: ArrayBuffer; authenticatorData: ArrayBuffer; signature: ArrayBuffer } & {
    userHandle: ArrayBuffer | null;
    getAuthenticatorData: () => ArrayBuffer;
    getPublicKey: () => ArrayBuffer | null;
  };
};

declare const navigator: {
  credentials: { create: (options: object) => Promise<Made>; get: (options: object) => Promise<Made> };
};

async function create({ challenge, party, user, algorithms }: Options): Promise<Registration> {
  const bytes = (text: string) => Uint8Array.fromBase64(text, { alphabet: 'base64url' });
  const text = (data: ArrayBuffer | null) =>
    new Uint8Array(data ?? new ArrayBuffer()).toBase64({ alphabet: 'base64url', omitPadding: true });
  const { id, response } = await navigator.credentials.create({
    publicKey: {
      challenge: bytes(challenge),
      rp: { id: party.id, name: 'Profile Lookup' },
      user: { id: bytes(user.handle), name: user.name, displayName: user.name },
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
    },
  });
  return {
    credentialId: id,
    clientDataJson: text(response.clientDataJSON),
    authenticatorData: text(response.getAuthenticatorData()),
    publicKey: text(response.getPublicKey()),
  };
}

async function get({ challenge, party }: Pick<Options, 'challenge' | 'party'>): Promise<Assertion> {
  const bytes = (text: string) => Uint8Array.fromBase64(text, { alphabet: 'base64url' });
  const text = (data: ArrayBuffer) => new Uint8Array(data).toBase64({ alphabet: 'base64url', omitPadding: true });
  const { id, response } = await navigator.credentials.get({
    publicKey: { challenge: bytes(challenge), rpId: party.id, userVerification: 'required' },
  });
  return {
    credentialId: id,
    clientDataJson: text(response.clientDataJSON),
    authenticatorData: text(response.authenticatorData),
    signature: text(response.signature),
    userHandle: response.userHandle === null ? null : text(response.userHandle),
  };
}

test.skipIf(!hasChromium)('a passkey that Chromium makes is registered and signs in, with each algorithm', async () => {
  if (openPage === null) return;
  const { page } = await openPage(publicUrl, { width: 1280, colorScheme: 'light' });
  const tools = await toolsOf(page);
  const access: Access = testAccess({ variables: { PUBLIC_URL: publicUrl } });
  const seen: string[] = [];
  for (const [name, algorithm] of Object.entries(COSE_ALGORITHMS)) {
    const authenticatorId = await addAuthenticator(tools);
    const secret = secretOf(addAdmin(access, name, onBox('root')).address);
    const options = beginRegistration(access, secret);
    const made = await page.evaluate(create, { ...options, algorithms: [algorithm] });
    register(access, secret, { ...made, name: 'Virtual' }, CLIENT);
    confirmPasskey(access, unconfirmedPasskey(access, name).passkey.id, onBox('root'));
    for (let time = 0; time < 2; time++) {
      const { session } = signInByPasskey(access, await page.evaluate(get, beginSignIn(access)), CLIENT);
      seen.push(session.person.name);
    }
    await tools.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
  }
  expect(seen).toEqual(['ES256', 'ES256', 'Ed25519', 'Ed25519', 'RS256', 'RS256']);
  await site.stop(true);
});
