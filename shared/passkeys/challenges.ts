import { AppError } from '../errors.ts';
import type { Access } from '../sessions-file/access.ts';
import { writeSessions } from '../sessions-file/sessions-file.ts';
import { hashOf, newToken } from '../sessions-file/tokens.ts';
import type { SignedAdmin } from '../sessions-file/whose.ts';
import { makeTicket, useTicket } from '../tickets/tickets.ts';

// Challenges that passkeys sign for decisions and registrations. Each is made by a POST of one person for one purpose,
// expires after five minutes, and is used up by the first assertion or registration, right or wrong. They are in the
// sessions file, so that all threads and processes share them. Challenges for signing in are in sign-in-challenges.ts.

/** The purpose of a challenge, and the admin in the current session or invitation; `about` is the subject as text. */
export type ChallengeFor = {
  purpose: 'registration' | 'decision';
  admin: Pick<SignedAdmin, 'name' | 'generation'>;
  about: string;
};

/**
 * Makes a challenge, 43 characters of base64url. Throws `too_many_challenges` if this person has requested too many.
 */
export function makeChallenge(access: Access, { purpose, admin, about }: ChallengeFor): string {
  const challenge = newToken(access.random);
  const { name, generation } = admin;
  const signed = { kind: 'admin', name, generation } as const;
  writeSessions(access.sessions, (db) => {
    makeTicket(db, { purpose, foundBy: hashOf(challenge) }, { signed, about }, access.clock.nowMs());
  });
  return challenge;
}

/**
 * Uses up a challenge and returns the id of its row. Throws `forbidden` if it does not exist for this purpose, is used
 * or expired, or was made for another subject or person.
 */
export function consumeChallenge(access: Access, challenge: string, { purpose, admin, about }: ChallengeFor): number {
  const ticket = writeSessions(access.sessions, (db) =>
    useTicket(db, { purpose, foundBy: hashOf(challenge) }, access.clock.nowMs()),
  );
  if (ticket === null) throw invalidChallenge();
  const { signed } = ticket;
  const isTheirs = signed.kind === 'admin' && signed.name === admin.name && signed.generation === admin.generation;
  if (!isTheirs || ticket.about !== about) {
    throw new AppError('forbidden', 'The passkey confirmed something other than this; nothing was done.');
  }
  return ticket.id;
}

/** The error for a challenge that is unknown, expired or used. */
export function invalidChallenge(): AppError {
  return new AppError('forbidden', 'This took longer than five minutes, or was sent twice; start again.');
}
