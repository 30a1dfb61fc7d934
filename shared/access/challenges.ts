import type { Sqlite } from '../db/connect.ts';
import { AppError } from '../errors.ts';
import { networkOf } from '../net.ts';
import type { Access, Client } from './access.ts';
import { aroundNow, dropPast, isWithin, withinSql } from './periods.ts';
import type { Signed } from './session-row.ts';
import { writeSessions } from './sessions-file.ts';
import { hashOf, newToken } from './tokens.ts';

// Challenges that passkeys sign. Each is made by a POST, for one purpose, lives for five minutes, and is used up by the first
// answer, whether or not that is right. They lie in the sessions file, so that all threads and processes count them together.

/** How long a challenge lives, in milliseconds. */
export const LIVES_FOR_MS = 5 * 60_000;

/** The most that may be open at a time. */
export const MOST_OPEN = 1_000;

/**
 * Of these, so many may be asked for by people who are not signed in, so that they can't keep admins from deciding; a new one
 * takes the place of the oldest of them.
 */
export const MOST_OPEN_SIGN_INS = 900;

/** And so many of one block of addresses, so that a few strangers do not use up the challenges of all others. */
export const MOST_OPEN_SIGN_INS_OF_BLOCK = 10;

/**
 * The most that one IPv4 address or IPv6 /64 network may ask for in a minute; failed log-ins are counted by the same. Mails
 * alone are counted by /48 too, since they reach others.
 */
export const MOST_A_MINUTE = 30;

const MINUTE_MS = 60_000;

/** What a challenge is for: `about` says it as text, and decisions belong to one admin as he is signed in. */
export type ChallengeFor =
  | { purpose: 'sign-in' | 'enrolment'; admin: null; about: string }
  | { purpose: 'decision'; admin: Extract<Signed, { kind: 'admin' }>; about: string };

type Row = { purpose: string; admin: string | null; generation: number | null; about: string; madeAt: number };

/**
 * Makes a challenge, 43 characters of base64url. Throws `too_many_challenges` where too many are open or were asked for from
 * this block of addresses, and `busy`.
 */
export function makeChallenge(access: Access, { purpose, admin, about }: ChallengeFor, client: Client): string {
  const challenge = newToken(access.random);
  const nowMs = access.clock.nowMs();
  const block = networkOf(client.address, 64);
  writeSessions(access.sessions, (sqlite) => {
    dropOldChallenges(sqlite, access.clock.settledMs());
    const { open, recent } = sqlite
      .query<{ open: number; recent: number }, (string | number)[]>(
        `SELECT count(*) FILTER (WHERE is_used = 0 AND ${withinSql('made_at')}) AS open,
           count(*) FILTER (WHERE client_block = ? AND made_at > ?) AS recent FROM challenges`,
      )
      .get(...aroundNow(LIVES_FOR_MS, nowMs), block, nowMs - MINUTE_MS) as { open: number; recent: number };
    if (open >= MOST_OPEN || recent >= MOST_A_MINUTE) {
      throw new AppError('too_many_challenges', null, { retryAfterSeconds: MINUTE_MS / 1000 });
    }
    if (purpose === 'sign-in') makeRoom(sqlite, block);
    sqlite
      .query(
        `INSERT INTO challenges (challenge_hash, purpose, admin, generation, about, client_block, made_at)
           VALUES (?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(hashOf(challenge), purpose, admin?.name ?? null, admin?.generation ?? null, about, block, nowMs);
  });
  return challenge;
}

/**
 * Uses up the oldest challenge to sign in of this block, and of all, where there are too many. It stays in the table, so that
 * it still counts for the block's minute.
 */
function makeRoom(sqlite: Sqlite, block: string): void {
  const useUp = (condition: string) =>
    sqlite.query<null, (string | number)[]>(
      `UPDATE challenges SET is_used = 1 WHERE challenge_hash = (SELECT challenge_hash FROM challenges
         WHERE purpose = 'sign-in' AND is_used = 0 AND ${condition} ORDER BY made_at DESC LIMIT 1 OFFSET ?)`,
    );
  useUp('client_block = ?').run(block, MOST_OPEN_SIGN_INS_OF_BLOCK - 1);
  useUp('TRUE').run(MOST_OPEN_SIGN_INS - 1);
}

/** Deletes the challenges whose time is over, inside a transaction of the caller. */
export function dropOldChallenges(sqlite: Sqlite, settledMs: number | null): void {
  dropPast(sqlite, { table: 'challenges', column: 'made_at', lengthMs: LIVES_FOR_MS }, settledMs);
}

/**
 * Uses a challenge up. Throws `forbidden` where there is none, it was used or its time is over, and where it was made for
 * anything else than this.
 */
export function consumeChallenge(access: Access, challenge: string, wanted: ChallengeFor): void {
  const row = writeSessions(access.sessions, (sqlite) =>
    sqlite
      .query<Row, [Uint8Array]>(
        `UPDATE challenges SET is_used = 1 WHERE challenge_hash = ? AND is_used = 0
           RETURNING purpose, admin, generation, about, made_at AS madeAt`,
      )
      .get(hashOf(challenge)),
  );
  if (row === null || !isWithin(row.madeAt, LIVES_FOR_MS, access.clock.nowMs())) {
    throw new AppError('forbidden', 'This took longer than five minutes, or was sent twice; begin again.');
  }
  const isTheirs = row.admin === (wanted.admin?.name ?? null) && row.generation === (wanted.admin?.generation ?? null);
  if (row.purpose !== wanted.purpose || !isTheirs || row.about !== wanted.about) {
    throw new AppError('forbidden', 'The passkey confirmed something else than this; nothing was done.');
  }
}
