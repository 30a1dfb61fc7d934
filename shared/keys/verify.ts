import type { Clock } from '../clock.ts';
import { withBusyTimeout } from '../db/busy-timeout.ts';
import type { Opened, Sqlite } from '../db/connect.ts';
import type { KeyState, Permission } from '../db/key-columns.ts';
import { onCommit, type Reader, readInView } from '../db/reader.ts';
import { withTables } from '../db/tables.ts';
import { AppError } from '../errors.ts';
import type { Account } from '../limits/account.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import { expireKeys } from './expire.ts';
import { isExpired } from './key.ts';
import { identifierOfSecret, secretMatches } from './secret.ts';
import type { OpenTally } from './tally.ts';

/** An Active key whose secret was presented. */
export type VerifiedKey = {
  identifier: string;
  name: string;
  /** Keys with the same permissions share one array; so do keys with the same rate limits. */
  permissions: readonly Permission[];
  rateLimits: readonly RateLimit[];
  /** Milliseconds since 1970; null where the key never expires. */
  expiresAt: number | null;
  /** What the key has used of its rate limits; kept here by `Limits.accountOf`. */
  account?: Account | undefined;
  /** The tally in which the key's last request was counted; kept here by `countUsage`. */
  tally?: OpenTally | undefined;
};

/**
 * Finds the Active key that a secret belongs to. Returns null for anything else, so that the caller can't tell why a secret
 * does not work. A key that was read is cached until the reader sees another commit; then its row is read again and
 * compared, so that a revocation holds from the reader's next view on. The secret is compared on every call. Throws `busy`
 * where the database is locked.
 */
export type Verifier = (secret: string) => VerifiedKey | null;

/** The keys that were verified, as they were read from the database. */
type KeyCache = {
  readonly reader: Reader;
  readonly db: Opened;
  readonly clock: Clock;
  readonly rowOfIdentifier: ReturnType<typeof prepareRow>;
  /** By identifier. */
  readonly keys: Map<string, CachedKey>;
  /** Permissions and rate limits by their JSON: thousands of keys have a few different ones. */
  readonly grants: Map<string, unknown>;
  /** How many commits of other connections the reader has seen. */
  commits: number;
  /** Before this time of the monotonic clock, nobody tries to store that a key has expired. */
  nextTryAtMs: number;
};

type CachedKey = {
  readonly key: VerifiedKey;
  readonly secretHash: Uint8Array;
  /** The value of `commits` when the row was last read. */
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

/** How many keys are cached at most, which takes a few megabytes. */
const MAX_CACHED = 20_000;

/** How long to wait after an expiry could not be stored: trying it for each request would slow the server down. */
const NEXT_TRY_MS = 10_000;

/** Prepares the verifier of a database. `db` is the connection on which it stores that a key has expired. */
export function prepareVerifier(reader: Reader, db: Opened, clock: Clock): Verifier {
  const cache: KeyCache = {
    reader,
    db,
    clock,
    rowOfIdentifier: prepareRow(reader.sqlite),
    keys: new Map(),
    grants: new Map(),
    commits: 0,
    nextTryAtMs: Number.NEGATIVE_INFINITY,
  };
  onCommit(reader, () => {
    cache.commits++;
  });
  return (secret) => verifySecret(cache, secret);
}

function prepareRow(sqlite: Sqlite) {
  return sqlite.prepare<KeyRow, [string]>(
    `SELECT identifier, name, state, permissions, rate_limits AS rateLimits, expires_at AS expiresAt,
      secret_hash AS secretHash FROM api_keys WHERE identifier = ?`,
  );
}

function verifySecret(cache: KeyCache, secret: string): VerifiedKey | null {
  const identifier = identifierOfSecret(secret);
  if (identifier === null) return null;
  const active = readInView(cache.reader, () => activeKeyOf(cache, identifier));
  if (!secretMatches(secret, active?.secretHash ?? null) || active === null) return null;
  const { keys, clock } = cache;
  // A key is cached only once its secret was presented, so that guessed identifiers can't push other keys out.
  if (keys.get(identifier) !== active) {
    if (keys.size >= MAX_CACHED) keys.clear();
    keys.set(active.key.identifier, active);
  }
  const { key } = active;
  if (key.expiresAt === null) return key;
  if (!isExpired(key.expiresAt, clock.nowMs())) return key;
  storeExpiry(cache, identifier);
  return null;
}

/** The key with this identifier, from the cache or the database; null where it is not Active. */
function activeKeyOf(cache: KeyCache, identifier: string): CachedKey | null {
  const known = cache.keys.get(identifier);
  if (known?.seenAt === cache.commits) return known;
  const row = cache.rowOfIdentifier.get(identifier);
  const read = row === null ? null : activeKeyIn(cache, row);
  if (known !== undefined && read !== null && isSame(read, known)) {
    known.seenAt = cache.commits;
    return known;
  }
  cache.keys.delete(identifier);
  return read;
}

/**
 * The key of a row; null where it is not Active. The identifier is taken from the row too: the one that was looked for is
 * a slice of a header, and would keep the whole header in memory.
 */
function activeKeyIn({ grants, commits }: KeyCache, row: KeyRow): CachedKey | null {
  const { state, identifier, name, expiresAt, secretHash } = row;
  if (state !== 'Active' || secretHash === null) return null;
  const permissions = grantOf<Permission[]>(grants, row.permissions);
  const rateLimits = grantOf<RateLimit[]>(grants, row.rateLimits);
  const key = { identifier, name, permissions, rateLimits, expiresAt, account: undefined, tally: undefined };
  return { key, secretHash, seenAt: commits };
}

/** The permissions or rate limits that a JSON text holds; the same object for the same text. */
function grantOf<T>(grants: KeyCache['grants'], json: string): T {
  const known = grants.get(json);
  if (known !== undefined) return known as T;
  const grant = JSON.parse(json);
  if (grants.size >= MAX_CACHED) grants.clear();
  grants.set(json, grant);
  return grant;
}

function storeExpiry(cache: KeyCache, identifier: string): void {
  const { db, clock } = cache;
  if (clock.monotonicMs() < cache.nextTryAtMs) return;
  try {
    // An import or VACUUM may hold the write lock; a request must not wait for it.
    withBusyTimeout(db.$client, 0, () => expireKeys({ db: withTables(db), clock }, { identifier }));
  } catch (error) {
    // The key is refused whether this is stored or not. A later request tries to store it again.
    if (!(error instanceof AppError)) throw error;
    cache.nextTryAtMs = clock.monotonicMs() + NEXT_TRY_MS;
  }
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
