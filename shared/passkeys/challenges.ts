import { AppError } from '../errors.ts';
import type { Access } from '../sessions-file/access.ts';
import { writeSessions } from '../sessions-file/sessions-file.ts';
import { hashOf, newToken } from '../sessions-file/tokens.ts';
import type { SignedAdmin } from '../sessions-file/whose.ts';
import { makeTicket, useTicket } from '../tickets/tickets.ts';

// Challenges that new passkeys sign. Each is made for one person, expires after five minutes, and is used up by the first
// registration, right or wrong. Challenges for signing in are in sign-in-challenges.ts.

/** The admin in the current session or invitation; `about` is the hash of an invitation's secret, empty for a session. */
export type ChallengeFor = { admin: Pick<SignedAdmin, 'name' | 'generation'>; about: string };

/**
 * Makes a challenge, 43 characters of base64url. Throws `too_many_challenges` if this person has requested too many.
 */
export function makeChallenge(access: Access, { admin, about }: ChallengeFor): string {
  const challenge = newToken(access.random);
  const { name, generation } = admin;
  const signed = { kind: 'admin', name, generation } as const;
  const key = { purpose: 'registration', foundBy: hashOf(challenge) } as const;
  writeSessions(access.sessions, (db) => makeTicket(db, key, { signed, about }, access.clock.nowMs()));
  return challenge;
}

/** Uses up a challenge. Throws `forbidden` if it was not made for this person and subject, or is used or expired. */
export function consumeChallenge(access: Access, challenge: string, { admin, about }: ChallengeFor): void {
  const key = { purpose: 'registration', foundBy: hashOf(challenge) } as const;
  const ticket = writeSessions(access.sessions, (db) => useTicket(db, key, access.clock.nowMs()));
  if (ticket === null) throw invalidChallenge();
  const { signed } = ticket;
  const isTheirs = signed.kind === 'admin' && signed.name === admin.name && signed.generation === admin.generation;
  if (!isTheirs || ticket.about !== about) throw invalidChallenge();
}

/** The error for a challenge that is unknown, expired or used. */
export function invalidChallenge(): AppError {
  return new AppError('forbidden', 'This took longer than five minutes, or was sent twice; start again.');
}
