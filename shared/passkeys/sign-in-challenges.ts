import { timingSafeEqual } from 'node:crypto';
import type { Db } from '../db/connect.ts';
import type { Access } from '../sessions-file/access.ts';
import { fileKey, readSessions, type SessionsFile } from '../sessions-file/sessions-file.ts';
import { hashOf, keyedHash } from '../sessions-file/tokens.ts';
import type { SignedAdmin } from '../sessions-file/whose.ts';
import { PURPOSES } from '../tickets/purposes.ts';
import { findTicket, makeTicket, type TicketKey } from '../tickets/tickets.ts';
import { invalidChallenge } from './challenges.ts';

// Challenges that passkeys sign to sign in. Anybody may request one, so none is stored: a challenge consists of random
// bytes, the time, and a keyed hash of both, by which the server recognises it. So strangers can't use up an admin's
// challenges. Only the SHA-256 of a challenge that an admin has signed is stored, so that it works once.

const RANDOM_BYTES = 32;
const TIME_BYTES = 6;

/** As long as a challenge of a registration, which is stored. */
const LIFETIME_MS = PURPOSES.registration.lifetimeMs;

/** Makes a challenge, 94 characters of base64url. */
export function makeSignInChallenge({ sessions, clock, random }: Access): string {
  const bytes = Buffer.alloc(RANDOM_BYTES + TIME_BYTES);
  bytes.set(random(RANDOM_BYTES));
  bytes.writeUIntBE(clock.nowMs(), RANDOM_BYTES, TIME_BYTES);
  return Buffer.concat([bytes, readMac(sessions, bytes)]).toString('base64url');
}

/** Throws `forbidden` for a challenge that was not made here, was used or is older than five minutes. */
export function checkSignInChallenge({ sessions, clock }: Access, challenge: string): void {
  const madeAt = readMadeAt(sessions, challenge);
  if (madeAt === null || clock.nowMs() >= madeAt + LIFETIME_MS) throw invalidChallenge();
  const used = readSessions(sessions, (sessionsDb) => findTicket(sessionsDb, keyOf(challenge)));
  if (used !== null) throw invalidChallenge();
}

/**
 * Uses up a challenge, inside the caller's transaction; if several processes use the same challenge, only one succeeds.
 * Throws the errors of {@link checkSignInChallenge}.
 */
export function useSignInChallenge(access: Access, sessionsDb: Db, challenge: string, signed: SignedAdmin): void {
  checkSignInChallenge(access, challenge);
  makeTicket(sessionsDb, keyOf(challenge), { signed }, access.clock.nowMs());
}

function keyOf(challenge: string): TicketKey {
  return { purpose: 'used challenge', foundBy: hashOf(challenge) };
}

/** When this server made the challenge, in milliseconds since 1970; null if it did not. */
function readMadeAt(sessions: SessionsFile, challenge: string): number | null {
  const bytes = Buffer.from(challenge, 'base64url');
  // Each challenge has only one valid encoding, although the decoder ignores characters outside base64url.
  if (bytes.toString('base64url') !== challenge) return null;
  const signed = bytes.subarray(0, RANDOM_BYTES + TIME_BYTES);
  const mac = bytes.subarray(RANDOM_BYTES + TIME_BYTES);
  const wanted = readMac(sessions, signed);
  if (mac.length !== wanted.length || !timingSafeEqual(mac, wanted)) return null;
  return signed.readUIntBE(RANDOM_BYTES, TIME_BYTES);
}

function readMac(sessions: SessionsFile, signed: Buffer): Uint8Array {
  return keyedHash(fileKey(sessions), 'sign-in challenge', signed.toString('base64url'));
}
