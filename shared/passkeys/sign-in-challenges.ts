import { timingSafeEqual } from 'node:crypto';
import type { Db } from '../db/connect.ts';
import type { Access } from '../sessions-file/access.ts';
import { MAX_BACK_MS } from '../sessions-file/live.ts';
import { fileKey, readSessions, type SessionsFile } from '../sessions-file/sessions-file.ts';
import { hashOf, keyedHash } from '../sessions-file/tokens.ts';
import type { SignedAdmin } from '../sessions-file/whose.ts';
import { PURPOSES } from '../tickets/purposes.ts';
import { findTicket, makeTicket, type TicketKey } from '../tickets/tickets.ts';
import { challengeOver } from './challenges.ts';

// Challenges that passkeys sign to sign in. Anybody may ask for one, so nothing is stored of it: it consists of random bytes,
// the time and a keyed hash of both, by which the server knows it again. Strangers who ask for many take no admin's away. Only
// one that an admin has signed is stored, as SHA-256, so that it signs in once.

const RANDOM_BYTES = 32;
const TIME_BYTES = 6;

/** It works as long as those that are stored. */
const LIFETIME_MS = PURPOSES.decision.lifetimeMs;

/** Makes a challenge, 94 characters of base64url. Throws `busy`. */
export function makeSignInChallenge({ sessions, clock, random }: Access): string {
  const bytes = Buffer.alloc(RANDOM_BYTES + TIME_BYTES);
  bytes.set(random(RANDOM_BYTES));
  bytes.writeUIntBE(clock.nowMs(), RANDOM_BYTES, TIME_BYTES);
  return Buffer.concat([bytes, readMac(sessions, bytes)]).toString('base64url');
}

/** Throws `forbidden` for a challenge that was not made here, was used or is older than five minutes, and `busy`. */
export function checkSignInChallenge({ sessions, clock }: Access, challenge: string): void {
  const madeAt = readMadeAt(sessions, challenge);
  if (madeAt === null || !isWithin(madeAt, LIFETIME_MS, clock.nowMs())) throw challengeOver();
  const used = readSessions(sessions, (tables) => findTicket(tables, keyOf(challenge)));
  if (used !== null) throw challengeOver();
}

/**
 * Uses a challenge up, inside a transaction of the caller: of several processes that are sent the same one, one can. Throws
 * what {@link checkSignInChallenge} throws.
 */
export function useSignInChallenge(access: Access, tables: Db, challenge: string, signed: SignedAdmin): void {
  checkSignInChallenge(access, challenge);
  makeTicket(tables, keyOf(challenge), { signed }, access.clock.nowMs());
}

function keyOf(challenge: string): TicketKey {
  return { purpose: 'used challenge', foundBy: hashOf(challenge) };
}

/** Whether a challenge works now, as `isLive` says it of what is stored. */
function isWithin(madeAt: number, lengthMs: number, nowMs: number): boolean {
  return nowMs < madeAt + lengthMs && madeAt <= nowMs + MAX_BACK_MS;
}

/** When this challenge was made here, milliseconds since 1970; null where it was not. */
function readMadeAt(sessions: SessionsFile, challenge: string): number | null {
  const bytes = Buffer.from(challenge, 'base64url');
  // One text for each challenge: the decoder ignores what is not base64url.
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
