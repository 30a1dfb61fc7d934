import type { Clock } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { type Reader, readInView } from '../db/reader.ts';
import type { Permission, StoredState } from '../db/schema.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import { isExpired } from './key.ts';
import { identifierOfSecret, secretMatches } from './secret.ts';

/** An Active key whose secret was presented. */
export type VerifiedKey = {
  identifier: string;
  name: string;
  /** Keys with the same permissions share one array; so do keys with the same rate limits. */
  permissions: readonly Permission[];
  rateLimits: readonly RateLimit[];
  /** Milliseconds since 1970; null if the key never expires. */
  expiresAt: number | null;
};

/**
 * Finds the Active key with a secret, unless its profile is banned. Returns null in all other cases: a caller can't tell why a
 * secret does not work. Keys are cached, and their rows are read again once the reader sees another commit, so that a revocation
 * or a ban takes effect with the reader's next view. The secret is compared on every call.
 */
export type Verifier = (secret: string) => VerifiedKey | null;

type KeyCache = {
  readonly reader: Reader;
  readonly clock: Clock;
  readonly rowOfIdentifier: ReturnType<typeof prepareRow>;
  /** By identifier. */
  readonly keys: Map<string, CachedKey>;
  /** Permissions and rate limits by their JSON: thousands of keys have a few different ones. */
  readonly grants: Map<string, unknown>;
};

type CachedKey = {
  readonly key: VerifiedKey;
  readonly secretHash: Uint8Array;
  /** The reader's `commits` when the row was last read. */
  seenAt: number;
};

type KeyRow = {
  identifier: string;
  name: string;
  state: StoredState;
  permissions: string;
  rateLimits: string;
  expiresAt: number | null;
  secretHash: Uint8Array | null;
  /** 1 while the profile is banned; null if the profile was erased. */
  banned: number | null;
};

/** The maximum number of cached keys, which take a few megabytes. */
const MAX_CACHED = 20_000;

/** Makes the verifier of a database. */
export function prepareVerifier(reader: Reader, clock: Clock): Verifier {
  const cache: KeyCache = {
    reader,
    clock,
    rowOfIdentifier: prepareRow(reader.sqlite),
    keys: new Map(),
    grants: new Map(),
  };
  return (secret) => verifySecret(cache, secret);
}

// A subquery reads the ban, because a join with the profiles took five times as long.
function prepareRow(sqlite: Sqlite) {
  return sqlite.prepare<KeyRow, [string]>(
    `SELECT identifier, name, state, permissions, rate_limits AS rateLimits, expires_at AS expiresAt,
      secret_hash AS secretHash, (SELECT banned FROM profiles WHERE id = profile_id) AS banned
    FROM api_keys WHERE identifier = ?`,
  );
}

function verifySecret(cache: KeyCache, secret: string): VerifiedKey | null {
  const identifier = identifierOfSecret(secret);
  if (identifier === null) return null;
  const active = readInView(cache.reader, () => activeKeyOf(cache, identifier));
  if (!secretMatches(secret, active?.secretHash ?? null) || active === null) return null;
  const { keys, clock } = cache;
  // A key is cached only once its secret was presented, so that guessed identifiers can't evict other keys.
  if (keys.get(identifier) !== active) {
    if (keys.size >= MAX_CACHED) keys.clear();
    keys.set(active.key.identifier, active);
  }
  const { key } = active;
  return key.expiresAt !== null && isExpired(key.expiresAt, clock.nowMs()) ? null : key;
}

function activeKeyOf(cache: KeyCache, identifier: string): CachedKey | null {
  const known = cache.keys.get(identifier);
  if (known?.seenAt === cache.reader.commits) return known;
  const row = cache.rowOfIdentifier.get(identifier);
  const read = row === null ? null : activeKeyIn(cache, row);
  if (known !== undefined && read !== null && isSame(read, known)) {
    known.seenAt = cache.reader.commits;
    return known;
  }
  cache.keys.delete(identifier);
  return read;
}

// The identifier is taken from the row: the requested one is a slice of a header, and would keep the header in memory.
function activeKeyIn({ grants, reader }: KeyCache, row: KeyRow): CachedKey | null {
  const { state, identifier, name, expiresAt, secretHash, banned } = row;
  if (state !== 'Active' || secretHash === null || banned === 1) return null;
  const permissions = grantOf<Permission[]>(grants, row.permissions);
  const rateLimits = grantOf<RateLimit[]>(grants, row.rateLimits);
  const key = { identifier, name, permissions, rateLimits, expiresAt };
  return { key, secretHash, seenAt: reader.commits };
}

/** Parses permissions or rate limits; the same object for the same text. */
function grantOf<T>(grants: KeyCache['grants'], json: string): T {
  const known = grants.get(json);
  if (known !== undefined) return known as T;
  const grant = JSON.parse(json);
  if (grants.size >= MAX_CACHED) grants.clear();
  grants.set(json, grant);
  return grant;
}

function isSame(one: CachedKey, other: CachedKey): boolean {
  return (
    one.key.name === other.key.name &&
    one.key.permissions === other.key.permissions &&
    one.key.rateLimits === other.key.rateLimits &&
    one.key.expiresAt === other.key.expiresAt &&
    crypto.timingSafeEqual(one.secretHash, other.secretHash)
  );
}
