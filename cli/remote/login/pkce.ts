import { hostname } from 'node:os';
import { systemRandom } from '../../../shared/random.ts';
import { CLI_CLIENT_ID, machineName } from '../../../shared/sign-in/cli-client.ts';

/** What belongs to one request to be let in at a server, and is known to this process only until the browser is sent there. */
export type Pkce = {
  /** The secret that proves later that the code comes back to whoever asked (RFC 7636). It never leaves this process before. */
  verifier: string;
  /** What the answer of the page must repeat. */
  state: string;
};

const RANDOM_BYTES = 32;

/** Begins a request to be let in. */
export function createPkce(): Pkce {
  const secret = () => Buffer.from(systemRandom(RANDOM_BYTES)).toString('base64url');
  return { verifier: secret(), state: secret() };
}

/**
 * The address of the server's page on which a person lets this machine in. `redirectUri` is where the browser brings the code
 * then; null where the page shows it. The address has no secret: it may be read in the list of processes.
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
