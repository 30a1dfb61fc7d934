import type { Person } from '../actor.ts';
import { lockDeadline, whenUnlocked } from '../db/when-unlocked.ts';
import { AppError } from '../errors.ts';
import { refuseChangedKey } from '../keys/key-version.ts';
import { readAdminGeneration } from '../keys/life/admin-generation.ts';
import type { Access, Client } from '../sessions-file/access.ts';
import { writeSessions } from '../sessions-file/sessions-file.ts';
import type { SignedAdmin } from '../sessions-file/whose.ts';
import type { SignIn } from '../sign-ins/row.ts';
import { beginSignIn } from '../sign-ins/sign-ins.ts';
import { consumeChallenge, makeChallenge } from './challenges.ts';
import { type Decision, decisionsText, refuseIfAll } from './decision.ts';
import { type Answer, type Assertion, readAssertion } from './passkey-json.ts';
import { type Admin, findPasskey, listPasskeys, notePasskeyUse } from './passkeys.ts';
import { type RelyingParty, relyingPartyOf } from './relying-party.ts';
import { checkSignInChallenge, makeSignInChallenge, useSignInChallenge } from './sign-in-challenges.ts';

// Admins sign in with a passkey, and authorise exactly the decisions that a page showed. Functions throw `refused` if
// browsers don't support passkeys for PUBLIC_URL, and wait for locks until `waitUntilMs` (`lockDeadline`).

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
    const { token, signIn: session } = beginSignIn(access, admin, { client });
    return { token, session };
  });
}

/**
 * Starts decisions of a signed-in admin that one assertion will authorise, and stores them as pending. Throws
 * `forbidden` if the person is no longer an admin, `changed_since` if a key differs from what the page showed, and the
 * errors of {@link makeChallenge}.
 */
export function beginDecisions(access: Access, admin: SignedAdmin, decisions: readonly Decision[]): AssertionOptions {
  const party = relyingPartyOf(access.config.publicUrl);
  const credentialIds = confirmedIds(access, admin);
  for (const decision of decisions) refuseChanged(access, decision);
  const challenge = makeChallenge(access, { purpose: 'decision', admin, about: decisionsText(decisions) });
  return { challenge, party, credentialIds };
}

/**
 * Uses up an assertion (the JSON of a credential) for exactly these decisions. Returns its id, and for each decision
 * the admin as the person who may carry it out; only this sets `hasAsserted` to true. Throws `forbidden` for an
 * assertion that is expired, used, altered, somebody else's or for anything else, and `changed_since` if all keys
 * differ from what the page showed. If only some do, the code that stores the decisions refuses these individually.
 */
export async function consumeAssertion(
  access: Access,
  admin: SignedAdmin,
  text: string,
  decisions: readonly Decision[],
  waitUntilMs = lockDeadline(),
) {
  const answer = readAssertion(text);
  // The decision is written to the main database, too: a lasting lock there must not use up the challenge.
  await whenUnlocked(access.db.$client, waitUntilMs);
  await whenUnlocked(access.sessions.sqlite, waitUntilMs);
  const about = decisionsText(decisions);
  const id = consumeChallenge(access, answer.challenge, { purpose: 'decision', admin, about });
  const by = await checkPasskey(access, answer, waitUntilMs);
  if (by.name !== admin.name || by.generation !== admin.generation) {
    throw new AppError('forbidden', 'This passkey is not yours; nothing was done.');
  }
  refuseIfAll(decisions, (decision) => refuseChanged(access, decision));
  const people = decisions.map(
    ({ operation, shown }): Person => ({
      kind: 'admin',
      name: admin.name,
      generation: admin.generation,
      hasAsserted: true,
      ...(operation !== 'remove passkey' && { shown }),
    }),
  );
  return { id, people };
}

function refuseChanged(access: Access, { operation, input, shown }: Decision): void {
  if (operation !== 'remove passkey') refuseChangedKey(access, input.identifier, shown);
}

function confirmedIds(access: Access, { name, generation }: SignedAdmin): string[] {
  if (readAdminGeneration(access.db, name) !== generation) throw new AppError('forbidden');
  return listPasskeys(access.db, name)
    .filter(({ confirmedAt }) => confirmedAt !== null)
    .map(({ credentialId }) => credentialId.toString('base64url'));
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
  // Checked after the signature, so that it reveals nothing to strangers.
  if (passkey.confirmedAt === null) {
    const sentence = `This passkey is not confirmed yet; the operator confirms it with "profilectl admins confirm ${admin.name}".`;
    throw new AppError('forbidden', sentence);
  }
  notePasskeyUse(access, passkey, signCount);
  return admin;
}
