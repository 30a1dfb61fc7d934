import { AppError } from '../errors.ts';
import type { Access } from '../sessions-file/access.ts';
import { writeSessions } from '../sessions-file/sessions-file.ts';
import { hashOf, newToken } from '../sessions-file/tokens.ts';
import type { SignedAdmin } from '../sessions-file/whose.ts';
import { makeTicket, useTicket } from '../tickets/tickets.ts';

// Challenges that passkeys sign for a decision or a registration. Each is made by a POST of one person, for one purpose, lives
// for five minutes, and is used up by the first answer, whether or not that is right. They lie in the sessions file, so that
// all threads and processes count them together. Those for signing in are in sign-in-challenges.ts.

/** What a challenge is for, and for which admin, as that one is signed in or invited; `about` says it as text. */
export type ChallengeFor = {
  purpose: 'registration' | 'decision';
  admin: Pick<SignedAdmin, 'name' | 'generation'>;
  about: string;
};

/**
 * Makes a challenge, 43 characters of base64url. Throws `too_many_challenges` where this person has asked for too many, and
 * `busy`.
 */
export function makeChallenge(access: Access, { purpose, admin, about }: ChallengeFor): string {
  const challenge = newToken(access.random);
  const { name, generation } = admin;
  const signed = { kind: 'admin', name, generation } as const;
  writeSessions(access.sessions, (tables) => {
    makeTicket(tables, { purpose, foundBy: hashOf(challenge) }, { signed, about }, access.clock.nowMs());
  });
  return challenge;
}

/**
 * Uses a challenge up. Throws `forbidden` where there is none for this purpose, it was used or its time is over, and where it was
 * made for anything else than this. Returns the id of its row.
 */
export function consumeChallenge(access: Access, challenge: string, { purpose, admin, about }: ChallengeFor): number {
  const ticket = writeSessions(access.sessions, (tables) =>
    useTicket(tables, { purpose, foundBy: hashOf(challenge) }, access.clock.nowMs()),
  );
  if (ticket === null) throw challengeOver();
  const { signed } = ticket;
  const isTheirs = signed.kind === 'admin' && signed.name === admin.name && signed.generation === admin.generation;
  if (!isTheirs || ticket.about !== about) {
    throw new AppError('forbidden', 'The passkey confirmed something else than this; nothing was done.');
  }
  return ticket.id;
}

/** The error for a challenge that is not open: unknown, old or used. */
export function challengeOver(): AppError {
  return new AppError('forbidden', 'This took longer than five minutes, or was sent twice; begin again.');
}
