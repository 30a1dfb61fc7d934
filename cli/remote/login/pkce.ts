import { hostname } from 'node:os';
import { systemRandom } from '../../../shared/random.ts';
import { CLI_CLIENT_ID, machineName } from '../../../shared/sign-in/cli-client.ts';

/** The random values of one login. */
export type Pkce = {
  /** The secret that proves, when the code is exchanged, that this process asked for it (RFC 7636). Only then is it sent. */
  verifier: string;
  /** The value that the page's answer must repeat. */
  state: string;
};

const RANDOM_BYTES = 32;

/** Makes the random values of a login. */
export function createPkce(): Pkce {
  const secret = () => Buffer.from(systemRandom(RANDOM_BYTES)).toString('base64url');
  return { verifier: secret(), state: secret() };
}

/**
 * The address of the server's page on which a person allows the login. `redirectUri` is where the page sends the code; null
 * if it shows the code instead. The address contains no secret, because other users may read it in the list of processes.
 */
export function pageAddress(url: string, { verifier, state }: Pkce, redirectUri: string | null): string {
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: CLI_CLIENT_ID,
    code_challenge: new Bun.CryptoHasher('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state,
    machine: machineName(hostname()),
    ...(redirectUri !== null && { redirect_uri: redirectUri }),
  });
  return `${url}/developers/cli?${parameters}`;
}
