import { AppError } from '../errors.ts';
import type { Access } from '../sessions-file/access.ts';
import { writeSessions } from '../sessions-file/sessions-file.ts';
import { hashOf, newToken } from '../sessions-file/tokens.ts';
import type { SignedAdmin } from '../sessions-file/whose.ts';
import { makeTicket, useTicket } from '../tickets/tickets.ts';

// Challenges that passkeys sign for a decision or a registration. Each is made by a POST of one person, for one
// purpose, works for five minutes, and is used up by the first answer, right or wrong. They are in the sessions file,
// so that all threads and processes count them together. Those for signing in are in sign-in-challenges.ts.

/** The purpose of a challenge, and the admin in their present session or invitation; `about` is the subject as text. */
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
 * Uses up a challenge and returns the id of its row. Throws `forbidden` if there is none for this purpose, if it is
 * used or expired, or if it was made for anything else.
 */
export function consumeChallenge(access: Access, challenge: string, { purpose, admin, about }: ChallengeFor): number {
  const ticket = writeSessions(access.sessions, (db) =>
    useTicket(db, { purpose, foundBy: hashOf(challenge) }, access.clock.nowMs()),
  );
  if (ticket === null) throw challengeOver();
  const { signed } = ticket;
  const isTheirs = signed.kind === 'admin' && signed.name === admin.name && signed.generation === admin.generation;
  if (!isTheirs || ticket.about !== about) {
    throw new AppError('forbidden', 'The passkey confirmed something other than this; nothing was done.');
  }
  return ticket.id;
}

/** The error for a challenge that is unknown, expired or used. */
export function challengeOver(): AppError {
  return new AppError('forbidden', 'This took longer than five minutes, or was sent twice; start again.');
}
