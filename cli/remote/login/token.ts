import { z } from 'zod';
import { Me, Token } from '../../../shared/api/manage-bodies.ts';
import { AppError } from '../../../shared/errors.ts';
import { CLI_CLIENT_ID } from '../../../shared/sign-in/cli-client.ts';
import { cleanForTerminal } from '../../../shared/text.ts';
import { askHost } from '../client.ts';
import type { Host } from '../target.ts';

// What a server is asked about a token. Each function throws what `askHost` throws.

/** Whose token it is. */
export type Identity = {
  kind: 'owner' | 'admin' | 'platform';
  name: string;
  /** The eight characters in the token's middle, which name it and are no secret. */
  token: string;
  /** When it ends at the latest (ISO 8601); null where nothing but its removal ends it. */
  endsAt: string | null;
};

/** How a platform's token begins; it was made on the box, and is ended there. */
const PLATFORM_PREFIX = 'plp_';

/** Finds out whether a server is there that people can log in at. */
export async function expectServer(url: string): Promise<void> {
  await askHost(
    { url, token: null },
    { method: 'GET', path: '/me', answer: z.object({}), returned: ['no_credentials'] },
  );
}

/** Whose token this is. Throws `not_logged_in` where the server does not accept it. */
export async function readIdentity(host: Host): Promise<Identity> {
  const { body } = await askHost(host, { method: 'GET', path: '/me', answer: Me });
  const { kind, name, token } = body;
  return { kind, name: cleanForTerminal(name), token, endsAt: kind === 'platform' ? null : body.endsAt };
}

/**
 * Exchanges the code of the server's page for a token. `redirectUri` is where the browser brought the code, null where the
 * person typed it.
 */
export async function exchangeCode(
  url: string,
  { code, verifier, redirectUri }: { code: string; verifier: string; redirectUri: string | null },
): Promise<string> {
  const form = {
    grant_type: 'authorization_code',
    client_id: CLI_CLIENT_ID,
    code,
    code_verifier: verifier,
    ...(redirectUri !== null && { redirect_uri: redirectUri }),
  };
  const { body } = await askHost({ url, token: null }, { method: 'POST', path: '/token', form, answer: Token });
  return body.access_token;
}

/** Ends a person's token on the server (RFC 7009). A platform's token goes on: returns false for one. */
export async function endToken({ url, token }: Host): Promise<boolean> {
  if (token.startsWith(PLATFORM_PREFIX)) return false;
  const form = { token, token_type_hint: 'access_token', client_id: CLI_CLIENT_ID };
  await askHost({ url, token: null }, { method: 'POST', path: '/revoke', form, answer: z.object({}) });
  return true;
}

/** Does what {@link endToken} does where that is possible, and nothing where it is not. */
export async function endQuietly(host: Host): Promise<void> {
  try {
    await endToken(host);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
}

/** Whose token it is and how long it lasts, in words, such as `Ada (owner), until 2027-01-01T00:00:00.000Z at the latest`. */
export function identityText({ kind, name, endsAt }: Identity): string {
  return `${name} (${kind}), ${endsAt === null ? 'until the token is removed' : `until ${endsAt} at the latest`}`;
}
