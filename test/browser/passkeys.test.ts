import { expect, test } from 'bun:test';
import { addAdmin } from '../../shared/admins.ts';
import type { Deps } from '../../shared/deps.ts';
import { beginPasskeySignIn, beginRegistration, register, signInByPasskey } from '../../shared/sign-in/passkeys.ts';
import { readSignIn } from '../../shared/sign-in/sessions.ts';
import { ALGORITHMS } from '../../shared/sign-in/webauthn.ts';
import { CLIENT, secretOf } from '../support/people.ts';
import { onBox, testDeps } from '../support/world.ts';
import { hasChromium } from './chromium.ts';
import { addAuthenticator, startBrowser, toolsOf } from './window.ts';

// Registrations and assertions of a real browser with its own virtual authenticator are accepted, for each kind of key.

const html = '<!doctype html><title>Passkeys</title><link rel="icon" href="data:,">';
const site = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: () => new Response(html, { headers: { 'Content-Type': 'text/html' } }),
});
const publicUrl = `http://localhost:${site.port}`;
const openPage = hasChromium ? await startBrowser() : null;

/** The functions below run in the page, so they can use only their argument. */
type Options = {
  challenge: string;
  party: { id: string };
  user: { handle: string; name: string };
  algorithms: number[];
};

declare const navigator: {
  credentials: { create: (options: object) => Promise<object>; get: (options: object) => Promise<object> };
};

async function create({ challenge, party, user, algorithms }: Options): Promise<string> {
  const bytes = (text: string) => Uint8Array.fromBase64(text, { alphabet: 'base64url' });
  const made = await navigator.credentials.create({
    publicKey: {
      challenge: bytes(challenge),
      rp: { id: party.id, name: 'Profile Lookup' },
      user: { id: bytes(user.handle), name: user.name, displayName: user.name },
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
    },
  });
  return JSON.stringify(made);
}

async function get({ challenge, party }: Pick<Options, 'challenge' | 'party'>): Promise<string> {
  const bytes = (text: string) => Uint8Array.fromBase64(text, { alphabet: 'base64url' });
  const publicKey = { challenge: bytes(challenge), rpId: party.id, userVerification: 'required' };
  return JSON.stringify(await navigator.credentials.get({ publicKey }));
}

test.skipIf(!hasChromium)(
  'a passkey made by Chromium can be registered and signs in, with each algorithm',
  async () => {
    if (openPage === null) return;
    const { page } = await openPage(publicUrl, { width: 1280, colorScheme: 'light' });
    const tools = await toolsOf(page);
    const access: Deps = testDeps({ variables: { PUBLIC_URL: publicUrl } });
    const seen: string[] = [];
    for (const [name, algorithm] of ALGORITHMS.map((one) => [`Key ${one}`, one] as const)) {
      const authenticatorId = await addAuthenticator(tools);
      const secret = secretOf(addAdmin(access, name, onBox('root')).address);
      const options = beginRegistration(access, secret);
      const credential = await page.evaluate(create, { ...options, algorithms: [algorithm] });
      await register(access, secret, { credential, name: 'Virtual' }, CLIENT);
      for (let time = 0; time < 2; time++) {
        const token = await signInByPasskey(access, await page.evaluate(get, beginPasskeySignIn(access)), CLIENT);
        seen.push(readSignIn(access, token)?.name ?? '');
      }
      await tools.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
    }
    expect(seen).toEqual(['Key -7', 'Key -7', 'Key -8', 'Key -8', 'Key -257', 'Key -257']);
    await site.stop(true);
  },
);
