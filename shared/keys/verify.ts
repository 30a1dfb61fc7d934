import type { Clock } from '../clock.ts';
import { withBusyTimeout } from '../db/busy-timeout.ts';
import type { Opened } from '../db/connect.ts';
import type { KeyState, Permission } from '../db/key-columns.ts';
import { onCommit, type Reader, readInView } from '../db/reader.ts';
import { AppError } from '../errors.ts';
import type { Account } from '../limits/account.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import { isExpired } from './key.ts';
import { identifierOfSecret, secretMatches } from './secret.ts';
import type { OpenTally } from './tally.ts';

/** An Active key whose secret was presented. */
export type VerifiedKey = {
  identifier: string;
  name: string;
  /** The same object for all keys that were granted the same, as are the rate limits. */
  permissions: readonly Permission[];
  rateLimits: readonly RateLimit[];
  /** Milliseconds since 1970, or null. */
  expiresAt: number | null;
  /** What it has used of its rate limits, once that was looked for. */
  account?: Account | undefined;
  /** What it was last used for. */
  tally?: OpenTally | undefined;
};

/**
 * Finds the key of a secret, or null for whatever is not an Active key: the caller learns no more. What was read of a key
 * holds until the reader sees another commit, whoever's it is: then its row is read again and compared, so that a
 * revocation works from the next view on. The secret is compared on every call. Throws `busy` where the database is locked.
 */
export type Verifier = (secret: string) => VerifiedKey | null;

type ActiveKey = {
  key: VerifiedKey;
  secretHash: Uint8Array;
  /** After how many commits the row was last seen so. */
  seenAt: number;
};

type KeyRow = {
  identifier: string;
  name: string;
  state: KeyState;
  permissions: string;
  rateLimits: string;
  expiresAt: number | null;
  secretHash: Uint8Array | null;
};

/** How many keys are kept at most: a few megabytes. */
const MAX_KEPT = 20_000;

/** After the move to `expired` could not be stored: noticing it again must not freeze the server for each request. */
const NEXT_TRY_MS = 10_000;

/** Prepares the verifier of one database; `db` is where it notes that a key's time is over. */
export function prepareVerifier(reader: Reader, db: Opened, clock: Clock): Verifier {
  const { sqlite } = reader;
  const keyOfIdentifier = sqlite.prepare<KeyRow, [string]>(
    `SELECT identifier, name, state, permissions, rate_limits AS rateLimits, expires_at AS expiresAt,
      secret_hash AS secretHash FROM api_keys WHERE identifier = ?`,
  );
  const kept = new Map<string, ActiveKey>();
  // Permissions and rate limits by their JSON, of which thousands of keys have a few.
  const grants = new Map<string, unknown>();
  let commits = 0;
  onCommit(reader, () => {
    commits++;
  });
  let nextTryAtMs = Number.NEGATIVE_INFINITY;

  function grantOf<T>(json: string): T {
    const known = grants.get(json);
    if (known !== undefined) return known as T;
    const grant = JSON.parse(json);
    if (grants.size >= MAX_KEPT) grants.clear();
    grants.set(json, grant);
    return grant;
  }

  function activeKeyOf(identifier: string): ActiveKey | null {
    const known = kept.get(identifier);
    if (known?.seenAt === commits) return known;
    const row = keyOfIdentifier.get(identifier);
    const read = row === null ? null : activeKeyIn(row);
    if (known !== undefined && read !== null && isSame(read, known)) {
      known.seenAt = commits;
      return known;
    }
    kept.delete(identifier);
    return read;
  }

  /** The key of a row, its identifier too: the one that was asked for is a part of a header, and would keep all of that. */
  function activeKeyIn(row: KeyRow): ActiveKey | null {
    const { state, identifier, name, expiresAt, secretHash } = row;
    if (state !== 'Active' || secretHash === null) return null;
    const permissions = grantOf<Permission[]>(row.permissions);
    const rateLimits = grantOf<RateLimit[]>(row.rateLimits);
    const key = { identifier, name, permissions, rateLimits, expiresAt, account: undefined, tally: undefined };
    return { key, secretHash, seenAt: commits };
  }

  function storeExpiry(identifier: string, nowMs: number): void {
    if (clock.monotonicMs() < nextTryAtMs) return;
    // Loaded where a key's time is over: the server's start does without Drizzle.
    const { withTables } = require('../db/tables.ts') as typeof import('../db/tables.ts');
    const { expireKeys } = require('./expire.ts') as typeof import('./expire.ts');
    try {
      // No request waits for an import or a VACUUM, which hold the write lock for longer than a server may stand still.
      withBusyTimeout(db.$client, 0, () => expireKeys(withTables(db), nowMs, identifier));
    } catch (error) {
      // Refused it is all the same; somebody notices again later.
      if (!(error instanceof AppError)) throw error;
      nextTryAtMs = clock.monotonicMs() + NEXT_TRY_MS;
    }
  }

  return (secret) => {
    const identifier = identifierOfSecret(secret);
    if (identifier === null) return null;
    const active = readInView(reader, () => activeKeyOf(identifier));
    if (!secretMatches(secret, active?.secretHash ?? null) || active === null) return null;
    // Only what has proved itself, so that strangers can't push others out.
    if (kept.get(identifier) !== active) {
      if (kept.size >= MAX_KEPT) kept.clear();
      kept.set(active.key.identifier, active);
    }
    const { key } = active;
    if (key.expiresAt === null) return key;
    const nowMs = clock.nowMs();
    if (!isExpired(key.expiresAt, nowMs)) return key;
    storeExpiry(identifier, nowMs);
    return null;
  };
}

function isSame(one: ActiveKey, other: ActiveKey): boolean {
  return (
    one.key.name === other.key.name &&
    one.key.permissions === other.key.permissions &&
    one.key.rateLimits === other.key.rateLimits &&
    one.key.expiresAt === other.key.expiresAt &&
    crypto.timingSafeEqual(one.secretHash, other.secretHash)
  );
}
