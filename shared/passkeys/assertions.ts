import { whenUnlocked } from '../db/when-unlocked.ts';
import { lockDeadline } from '../db/write.ts';
import { AppError } from '../errors.ts';
import type { Access, Client } from '../sessions-file/access.ts';
import { writeSessions } from '../sessions-file/sessions-file.ts';
import type { SignIn } from '../sign-ins/row.ts';
import { beginSignIn } from '../sign-ins/sign-ins.ts';
import { type Answer, type Assertion, readAssertion } from './passkey-json.ts';
import { type Admin, findPasskey, notePasskeyUse } from './passkeys.ts';
import { type RelyingParty, relyingPartyOf } from './relying-party.ts';
import { checkSignInChallenge, makeSignInChallenge, useSignInChallenge } from './sign-in-challenges.ts';

// Admins sign in with a passkey. Functions throw `refused` if browsers don't support passkeys for PUBLIC_URL, and wait
// for locks until `waitUntilMs` (`lockDeadline`).

/**
 * The data that a browser needs to request an assertion. `credentialIds` (base64url) are the accepted passkeys, all if
 * it is empty.
 */
export type AssertionOptions = { challenge: string; party: RelyingParty; credentialIds: string[] };

/** Starts a sign-in, without storing anything. */
export function beginPasskeySignIn(access: Access): AssertionOptions {
  const party = relyingPartyOf(access.config.publicUrl);
  return { challenge: makeSignInChallenge(access), party, credentialIds: [] };
}

/** Signs an admin in by an assertion (the JSON of a credential), which works once. Throws `forbidden`. */
export async function signInByPasskey(
  access: Access,
  text: string,
  client: Client,
  waitUntilMs = lockDeadline(),
): Promise<{ token: string; session: SignIn }> {
  const answer = readAssertion(text);
  const { challenge } = answer;
  checkSignInChallenge(access, challenge);
  const { name, generation } = await checkPasskey(access, answer, waitUntilMs);
  await whenUnlocked(access.sessions.sqlite, waitUntilMs);
  return writeSessions(access.sessions, (sessionsDb) => {
    const admin = { kind: 'admin', name, generation } as const;
    useSignInChallenge(access, sessionsDb, challenge, admin);
    const { token, signIn: session } = beginSignIn(access, admin, client);
    return { token, session };
  });
}

/** Returns the admin whose passkey signed this challenge, and stores its counter. Throws `forbidden`. */
async function checkPasskey(
  access: Access,
  { sent, challenge }: Answer<Assertion>,
  waitUntilMs: number,
): Promise<Admin> {
  const find = () => findPasskey(access.db, Buffer.from(sent.id, 'base64url'));
  const gone = () => new AppError('forbidden', 'This passkey is not registered here, or was removed.');
  const found = find();
  if (found === null) throw gone();
  const { passkey, admin } = found;
  const userHandle = admin.userHandle.toString('base64url');
  const party = relyingPartyOf(access.config.publicUrl);
  const { checkAssertion } = await import('./passkey-answers.ts');
  const { signCount } = await checkAssertion(party, challenge, { ...passkey, userHandle }, sent);
  await whenUnlocked(access.db.$client, waitUntilMs);
  // The admin may have been removed or invited again while the signature was verified.
  if (find()?.admin.generation !== admin.generation) throw gone();
  notePasskeyUse(access, passkey, signCount);
  return admin;
}
