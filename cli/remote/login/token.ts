import { z } from 'zod';
import { Me, Token } from '../../../shared/api/manage-bodies.ts';
import { AppError } from '../../../shared/errors.ts';
import { CLI_CLIENT_ID } from '../../../shared/sign-in/cli-client.ts';
import { cleanForTerminal } from '../../../shared/text.ts';
import { askHost } from '../client.ts';
import type { Host } from '../target.ts';

// Requests to a server about tokens. All functions throw the errors of `askHost` in client.ts.

/** Whose token it is. */
export type Identity = {
  kind: 'owner' | 'admin' | 'platform';
  name: string;
  /** The token's identifier: eight characters in its middle, which are not secret. */
  token: string;
  /** The latest time at which it expires (ISO 8601); null if it works until it is removed. */
  endsAt: string | null;
};

/** The prefix of backends' tokens, which are created and removed on the server itself. */
const PLATFORM_PREFIX = 'plp_';

/** Throws unless there is a server that people can log in to. */
export async function expectServer(url: string): Promise<void> {
  await askHost(
    { url, token: null },
    { method: 'GET', path: '/me', answer: z.object({}), returned: ['no_credentials'] },
  );
}

/** Asks the server whose token this is. Throws `not_logged_in` if it does not accept it. */
export async function readIdentity(host: Host): Promise<Identity> {
  const { body } = await askHost(host, { method: 'GET', path: '/me', answer: Me });
  const { kind, name, token } = body;
  return { kind, name: cleanForTerminal(name), token, endsAt: kind === 'platform' ? null : body.endsAt };
}

/**
 * Exchanges the code of the server's page for a token. `redirectUri` is where the browser sent the code, null if the person
 * typed it.
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

/** Revokes a person's token on the server (RFC 7009). Returns false for a backend's token, which can't be revoked this way. */
export async function endToken({ url, token }: Host): Promise<boolean> {
  if (token.startsWith(PLATFORM_PREFIX)) return false;
  const form = { token, token_type_hint: 'access_token', client_id: CLI_CLIENT_ID };
  await askHost({ url, token: null }, { method: 'POST', path: '/revoke', form, answer: z.object({}) });
  return true;
}

/** Like {@link endToken}, but ignores refusals. */
export async function tryEndToken(host: Host): Promise<void> {
  try {
    await endToken(host);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
}

/** An identity as text, such as `Ada (owner), until 2027-01-01T00:00:00.000Z at the latest`. */
export function identityText({ kind, name, endsAt }: Identity): string {
  return `${name} (${kind}), ${endsAt === null ? 'until the token is removed' : `until ${endsAt} at the latest`}`;
}
