import type { Sqlite } from '../db/connect.ts';
import { AppError } from '../errors.ts';
import type { Access } from './access.ts';
import { aroundNow, dropPast, isWithin, withinSql } from './periods.ts';
import type { Signed } from './session-row.ts';
import { writeSessions } from './sessions-file.ts';
import { hashOf, newToken } from './tokens.ts';

// Challenges that passkeys sign for a decision or a registration. Each is made by a POST of one person, for one purpose, lives
// for five minutes, and is used up by the first answer, whether or not that is right. They lie in the sessions file, so that
// all threads and processes count them together. Those for signing in are in sign-in-challenges.ts.

/** How long a challenge lives, in milliseconds. */
export const LIVES_FOR_MS = 5 * 60_000;

/** The most that one person may ask for in a minute, for each purpose. Nobody else's are counted with them. */
export const MOST_A_MINUTE = 30;

const MINUTE_MS = 60_000;

/** What a challenge is for, and for which admin, as that one is signed in or invited; `about` says it as text. */
export type ChallengeFor = {
  purpose: 'enrolment' | 'decision';
  admin: Pick<Extract<Signed, { kind: 'admin' }>, 'name' | 'generation'>;
  about: string;
};

type Row = { purpose: string; admin: string; generation: number; about: string; madeAt: number };

/**
 * Makes a challenge, 43 characters of base64url. Throws `too_many_challenges` where this person has asked for too many, and
 * `busy`.
 */
export function makeChallenge(access: Access, { purpose, admin, about }: ChallengeFor): string {
  const challenge = newToken(access.random);
  writeSessions(access.sessions, (sqlite) => {
    const nowMs = access.clock.nowMs();
    dropOldChallenges(sqlite, access.clock.settledMs());
    refuseMany(sqlite, purpose, admin.name, nowMs);
    sqlite
      .query(
        'INSERT INTO challenges (challenge_hash, purpose, admin, generation, about, made_at) VALUES (?, ?, ?, ?, ?, ?)',
      )
      .run(hashOf(challenge), purpose, admin.name, admin.generation, about, nowMs);
  });
  return challenge;
}

/** Throws `too_many_challenges` where a person has asked for too many in the last minute, used or not. */
function refuseMany(sqlite: Sqlite, purpose: ChallengeFor['purpose'], admin: string, nowMs: number): void {
  const { recent, first } = sqlite
    .query<{ recent: number; first: number }, (string | number)[]>(
      `SELECT count(*) AS recent, min(made_at) AS first FROM challenges
         WHERE purpose = ? AND admin = ? AND ${withinSql('made_at')}`,
    )
    .get(purpose, admin, ...aroundNow(MINUTE_MS, nowMs)) as { recent: number; first: number };
  if (recent < MOST_A_MINUTE) return;
  const retryAfterSeconds = Math.ceil((first + MINUTE_MS - nowMs) / 1000);
  throw new AppError('too_many_challenges', null, { retryAfterSeconds });
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
  if (row === null || !isWithin(row.madeAt, LIVES_FOR_MS, access.clock.nowMs())) throw challengeOver();
  const isTheirs = row.admin === wanted.admin.name && row.generation === wanted.admin.generation;
  if (row.purpose !== wanted.purpose || !isTheirs || row.about !== wanted.about) {
    throw new AppError('forbidden', 'The passkey confirmed something else than this; nothing was done.');
  }
}

/** The error for a challenge that is not open: unknown, old or used. */
export function challengeOver(): AppError {
  return new AppError('forbidden', 'This took longer than five minutes, or was sent twice; begin again.');
}
