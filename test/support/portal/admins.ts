import { addAdmin } from '../../../shared/admins/admins.ts';
import { beginPasskeySignIn, signInByPasskey } from '../../../shared/passkeys/assertions.ts';
import { beginRegistration, register } from '../../../shared/passkeys/registration.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import type { SignedAdmin } from '../../../shared/sessions-file/whose.ts';
import { onBox } from '../actors.ts';
import { CLIENT } from './access.ts';
import { type Authenticator, createAuthenticator } from './authenticator.ts';

/** The secret in a link for registering a passkey. */
export function secretOf(address: string): string {
  return new URL(address).hash.slice(1);
}

/** Registers a passkey of this authenticator, or of a new one, with such a link. */
export async function registerAt(
  access: Access,
  address: string,
  name = 'Laptop',
  made?: Authenticator,
): Promise<Authenticator> {
  const secret = secretOf(address);
  const { challenge, party, user } = beginRegistration(access, secret);
  const authenticator = made ?? createAuthenticator(party);
  await register(access, secret, { credential: authenticator.register(challenge, user.handle), name }, CLIENT);
  return authenticator;
}

/** Adds an admin with one passkey. */
export async function enrol(access: Access, name: string): Promise<Authenticator> {
  return registerAt(access, addAdmin(access, name, onBox('root')).address);
}

/** Signs in with a passkey; returns the session's token, and the signed-in admin. */
export async function signIn(
  access: Access,
  authenticator: Authenticator,
): Promise<{ token: string; signed: SignedAdmin }> {
  const { challenge } = beginPasskeySignIn(access);
  const { token, session } = await signInByPasskey(access, authenticator.assert(challenge), CLIENT);
  return { token, signed: session.signed as SignedAdmin };
}
