import { addAdmin } from '../../shared/admins.ts';
import type { Db } from '../../shared/db/connect.ts';
import { write } from '../../shared/db/write.ts';
import type { Deps } from '../../shared/deps.ts';
import { newCode } from '../../shared/sign-in/codes.ts';
import { handOver } from '../../shared/sign-in/hand-over.ts';
import { beginPasskeySignIn, beginRegistration, register, signInByPasskey } from '../../shared/sign-in/passkeys.ts';
import { beginSignIn, readSignIn, type Session } from '../../shared/sign-in/sessions.ts';
import { addToken, type NewToken } from '../../shared/tokens.ts';
import { type Authenticator, createAuthenticator } from './authenticator.ts';
import { notedRandom, noteSecretsIn } from './secret-search.ts';
import { onBox } from './world.ts';

/** Adds a backend's token, with both rights by default. */
export function addBackend(access: Deps, changes: Partial<NewToken> = {}) {
  const wanted = { name: `backend ${Bun.randomUUIDv7()}`, excludesContactFields: false, ...changes };
  const made = addToken(access, { rights: ['profiles', 'sign-ins'], ...wanted }, onBox('root'));
  noteSecretsIn(made.token);
  return made;
}

/** Hands over the owner of a profile with a backend's token, and returns the ticket in the URL. */
export function ticketFor(access: Deps, uid: number, opener = addBackend(access).identifier): string {
  return new URL(handOver(access, { uid }, opener).address).searchParams.get('ticket') as string;
}

/** What a sign-in records about the browser. */
export const CLIENT = { address: '192.0.2.7', agent: 'A browser' };

/** Signs in the owner of a profile without a code, and returns the token. */
export function signedIn(access: Deps, profileId: number, client = CLIENT): string {
  return write(access.db, (tx) => beginSignIn(tx, access, { profileId, adminId: null }, client));
}

/** Makes codes predictable: they alone request five bytes, which count up. `lastCode` is the latest code. */
export function countingCodes() {
  let drawn = 0;
  const bytesOf = (count: number) => Uint8Array.of(0, count >> 24, count >> 16, count >> 8, count);
  return {
    random: (bytes: number) => (bytes === 5 ? bytesOf(++drawn) : notedRandom(bytes)),
    lastCode: () => newCode(() => bytesOf(drawn)),
  };
}

/** The secret in a link for registering a passkey. */
export function secretOf(address: string): string {
  return new URL(address).hash.slice(1);
}

/** Registers a passkey of this authenticator, or of a new one, with such a link. */
export async function registerAt(access: Deps, address: string, name = 'Laptop', made?: Authenticator) {
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
export async function signIn(access: Deps, authenticator: Authenticator) {
  const { challenge } = beginPasskeySignIn(access);
  const token = await signInByPasskey(access, authenticator.assert(challenge), CLIENT);
  return { token, session: readSignIn(access, token) as Session };
}

/** The number of rows of a table, or of those after WHERE. */
export function countRows({ $client }: Db, from: string): number {
  return $client.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${from}`).get()?.n ?? 0;
}
