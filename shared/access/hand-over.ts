import { isoTime } from '../clock.ts';
import type { Opened, Sqlite } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { AppError } from '../errors.ts';
import type { Access, Client } from './access.ts';
import { readBinding } from './binding.ts';
import { isKnownBrowser, knowBrowser } from './known-browsers.ts';
import { dropPast, isWithin } from './periods.ts';
import type { Signed } from './session-row.ts';
import { beginSession } from './sessions.ts';
import { readSessions, writeSessions } from './sessions-file.ts';
import { isStillSigned } from './signed-rows.ts';
import { hashOf, newToken } from './tokens.ts';
import { tellOfSignIn } from './untold.ts';

// The platform's backend knows its users. For one of them it is given an address, to which it sends the user's browser; there
// the user becomes the owner of the profile by one click. An address works once, for a minute, and as long as the profile
// is the same (its row and its e-mail address) and the backend's token is there. Stored is only the SHA-256 of its secret. Functions throw `busy` where a
// lock is held for too long, and `refused` where a file can't be written.

/** How long an address works, in milliseconds. */
export const HAND_OVER_MS = 60_000;

/** Whom a backend hands over: by UID or by auth ID. */
export type HandedOver = { uid: number } | { authId: string };

/** Where the user is to be sent; the address is shown this once. `expiresAt` is ISO 8601 in UTC. */
export type HandOver = { address: string; expiresAt: string };

/** What the page shows of an address before it is used. */
export type OpenHandOver = { profileId: number; username: string };

/** What using an address makes: the tokens of two cookies. */
export type Entrance = { token: string; knownBrowser: string };

type Row = Extract<Signed, { kind: 'owner' }> & { madeAt: number };

/**
 * Makes an address for the owner of a profile, for the platform's token with the identifier `openedBy`. What it leads to ends
 * with that token. Throws `not_found`.
 */
export function handOver(access: Access, who: HandedOver, openedBy: string): HandOver {
  const profileId = findId(access.db, who);
  const binding = profileId === null ? null : readBinding(access.db, profileId);
  if (binding === null) throw new AppError('not_found');
  const secret = newToken(access.random);
  const madeAtMs = writeSessions(access.sessions, (sqlite) => {
    const nowMs = access.clock.nowMs();
    dropOldHandOvers(sqlite, access.clock.settledMs());
    sqlite
      .query('INSERT INTO hand_overs VALUES (?, ?, ?, ?, ?, ?)')
      .run(hashOf(secret), binding.profileId, binding.generation, binding.addressHash, openedBy, nowMs);
    return nowMs;
  });
  const address = `${access.config.publicUrl}/developers/enter?ticket=${secret}`;
  return { address, expiresAt: isoTime(madeAtMs + HAND_OVER_MS) };
}

/** Looks an address up by its secret and changes nothing. Throws `not_found`, with one sentence for all reasons. */
export function readHandOver(access: Access, secret: string): OpenHandOver {
  const row = readSessions(access.sessions, (sqlite) => find(sqlite, secret));
  return { profileId: checkOpen(access, row).profileId, username: usernameOf(access.db, row?.profileId ?? 0) };
}

/**
 * Uses an address up and signs the owner in, and stores that he is to be told where the browser is new. Throws `not_found` as above: of two
 * that use one address only one gets in.
 */
export function enterHandOver(access: Access, secret: string, knownBrowser: string | null, client: Client): Entrance {
  return writeSessions(access.sessions, (sqlite) => {
    const nowMs = access.clock.nowMs();
    const row = find(sqlite, secret);
    sqlite.query('DELETE FROM hand_overs WHERE secret_hash = ?').run(hashOf(secret));
    const { madeAt: _madeAt, ...owner } = checkOpen(access, row);
    if (!isKnownBrowser(sqlite, knownBrowser, owner, nowMs)) tellOfSignIn(access, owner, client, nowMs);
    const next = knowBrowser(sqlite, access.random, knownBrowser, owner, nowMs);
    const { token } = beginSession(access, owner, client);
    return { token, knownBrowser: next };
  });
}

/** Deletes addresses whose time is over, inside a transaction of the caller. */
export function dropOldHandOvers(sqlite: Sqlite, settledMs: number | null): void {
  dropPast(sqlite, { table: 'hand_overs', column: 'made_at', lengthMs: HAND_OVER_MS }, settledMs);
}

function find(sqlite: Sqlite, secret: string): Row | null {
  const row = sqlite
    .query<Omit<Row, 'kind'>, [Uint8Array]>(
      `SELECT profile_id AS profileId, generation, address_hash AS addressHash, opened_by AS openedBy, made_at AS madeAt
         FROM hand_overs WHERE secret_hash = ?`,
    )
    .get(hashOf(secret));
  return row === null ? null : { kind: 'owner', ...row };
}

function checkOpen(access: Access, row: Row | null): Row {
  const isOpen = row !== null && isWithin(row.madeAt, HAND_OVER_MS, access.clock.nowMs());
  if (isOpen && isStillSigned(access, row)) return row;
  const sentence =
    'This address does not work, or not any more: it works once, for a minute. Go back to where it came from, and begin anew.';
  throw new AppError('not_found', sentence);
}

function findId({ $client }: Opened, who: HandedOver): number | null {
  return guardDatabase($client.filename, () => {
    if ('uid' in who) return who.uid;
    const row = $client.query<{ id: number }, [string]>('SELECT id FROM profiles WHERE auth_id = ?').get(who.authId);
    return row?.id ?? null;
  });
}

function usernameOf({ $client }: Opened, id: number): string {
  const row = guardDatabase($client.filename, () =>
    $client.query<{ username: string }, [number]>('SELECT username FROM profiles WHERE id = ?').get(id),
  );
  return row?.username ?? '';
}
