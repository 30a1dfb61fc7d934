import type { Clock } from '../clock.ts';
import { type Db, guardDatabase } from '../db/open.ts';
import { AppError } from '../errors.ts';
import { expireKeys } from './expire.ts';
import { isExpired, type KeyState } from './key.ts';
import type { Permission } from './permissions.ts';
import type { RateLimit } from './rate-limit.ts';
import { identifierOfSecret, secretMatches } from './secret.ts';

/** An Active key whose secret was presented. */
export type VerifiedKey = {
  identifier: string;
  name: string;
  permissions: Permission[];
  rateLimits: RateLimit[];
  /** Milliseconds since 1970, or null. */
  expiresAt: number | null;
};

/**
 * Finds the key of a secret, or null for whatever is not an Active key: the caller learns no more. Reads the database on
 * every call, so that a revocation works from its commit on. Throws `busy` where the database is locked.
 */
export type Verifier = (secret: string) => VerifiedKey | null;

type KeyRow = {
  identifier: string;
  name: string;
  state: KeyState;
  permissions: string;
  rateLimits: string;
  expiresAt: number | null;
  secretHash: Uint8Array | null;
};

/** After the move to `expired` could not be stored: noticing it again must not freeze the server for each request. */
const NEXT_TRY_MS = 10_000;

/** Prepares the verifier of one database. */
export function prepareVerifier(db: Db, clock: Clock): Verifier {
  const { $client: sqlite } = db;
  const keyOfIdentifier = sqlite.prepare<KeyRow, [string]>(
    `SELECT identifier, name, state, permissions, rate_limits AS rateLimits, expires_at AS expiresAt,
      secret_hash AS secretHash FROM api_keys WHERE identifier = ?`,
  );
  let nextTryAtMs = Number.NEGATIVE_INFINITY;

  function storeExpiry(identifier: string, nowMs: number): void {
    if (clock.monotonicMs() < nextTryAtMs) return;
    try {
      expireKeys(db, nowMs, identifier);
    } catch (error) {
      // Refused it is all the same; somebody notices again later.
      if (!(error instanceof AppError)) throw error;
      nextTryAtMs = clock.monotonicMs() + NEXT_TRY_MS;
    }
  }

  return (secret) => {
    const identifier = identifierOfSecret(secret);
    if (identifier === null) return null;
    const row = guardDatabase(sqlite.filename, () => keyOfIdentifier.get(identifier));
    if (!secretMatches(secret, row?.secretHash ?? null) || row?.state !== 'Active') return null;
    const nowMs = clock.nowMs();
    if (isExpired(row.expiresAt, nowMs)) {
      storeExpiry(identifier, nowMs);
      return null;
    }
    return {
      identifier,
      name: row.name,
      permissions: JSON.parse(row.permissions),
      rateLimits: JSON.parse(row.rateLimits),
      expiresAt: row.expiresAt,
    };
  };
}
