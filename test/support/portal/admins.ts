import { addAdmin, findAdmin } from '../../../shared/admins.ts';
import { write } from '../../../shared/db/write.ts';
import type { Deps } from '../../../shared/deps.ts';
import {
  beginPasskeySignIn,
  beginRegistration,
  invite,
  register,
  signInByPasskey,
} from '../../../shared/sign-in/passkeys.ts';
import { readSignIn, type Session } from '../../../shared/sign-in/sessions.ts';
import { onBox } from '../actors.ts';
import { CLIENT } from './access.ts';
import { type Authenticator, createAuthenticator } from './authenticator.ts';

/** The secret in a link for registering a passkey. */
export function secretOf(address: string): string {
  return new URL(address).hash.slice(1);
}

/** Registers a passkey of this authenticator, or of a new one, with such a link. */
export async function registerAt(
  access: Deps,
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
export async function enrol(access: Deps, name: string): Promise<Authenticator> {
  return registerAt(access, addAdmin(access, name, onBox('root')).address);
}

/** Signs in with a passkey; returns the session and its token. */
export async function signIn(access: Deps, authenticator: Authenticator): Promise<{ token: string; session: Session }> {
  const { challenge } = beginPasskeySignIn(access);
  const token = await signInByPasskey(access, authenticator.assert(challenge), CLIENT);
  return { token, session: readSignIn(access, token) as Session };
}

/** Makes another link for an admin. */
export function linkFor(access: Deps, name: string): string {
  return write(access.db, (tx) => invite(tx, access, findAdmin(tx, name))).address;
}
