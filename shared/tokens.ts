import { timingSafeEqual } from 'node:crypto';
import { asc, eq } from 'drizzle-orm';
import type { Actor } from './actor.ts';
import { isoTime } from './clock.ts';
import type { Db, Tx } from './db/connect.ts';
import { BACKEND_RIGHTS, type BackendRight, backendTokens } from './db/schema.ts';
import { write, writeLoosely } from './db/write.ts';
import type { Deps } from './deps.ts';
import { AppError } from './errors.ts';
import { addEvent } from './events.ts';
import { checksumOf, newIdentifier } from './keys/secret.ts';
import { foldName, nameFault } from './profiles/name.ts';
import { type Random, randomBase62 } from './random.ts';
import { hashOf } from './sign-in/tickets.ts';

// Tokens of backends: the operator adds and removes them, and requests carry them. They have the form and checksum of a
// key's secret, with another prefix, so that secret scanners find leaked ones:
// plp_<identifier>_<32 random base62><6 base62 of the CRC-32 of everything before it>.

const TOKEN = /^plp_([0-9A-Za-z]{8})_[0-9A-Za-z]{38}$/;
const CHECKSUM_LENGTH = 6;

/** A use is recorded only if the recorded last use is older than this. */
const USE_STEP_MS = 60_000;

/** The settings of a new token. */
export type NewToken = {
  name: string;
  rights: readonly string[];
  /** Whether its lines leave the profiles' `email`, `authId` and `banned` unchanged. */
  excludesContactFields: boolean;
};

/** A token as it is shown; times are ISO 8601 in UTC. */
export type TokenView = {
  identifier: string;
  name: string;
  rights: BackendRight[];
  withoutAddress: boolean;
  addedAt: string;
  /** To the minute; null if it was never used. */
  lastUsedAt: string | null;
};

/** The token of a request. */
export type BackendToken = typeof backendTokens.$inferSelect;

/**
 * Adds a token for a backend. The token itself is returned only here and never stored. Throws `usage` for an invalid
 * name and unknown rights, and `refused` if the name has a token.
 */
export function addToken(deps: Deps, wanted: NewToken, by: Actor): TokenView & { token: string } {
  const { name, excludesContactFields } = wanted;
  const rights = checkNewToken(wanted);
  const { token, identifier } = newTokenText(deps.random);
  const folded = foldName(name);
  const row = write(deps.db, (tx) => {
    const atMs = deps.clock.nowMs();
    const held = tx.select().from(backendTokens).where(eq(backendTokens.folded, folded)).get();
    if (held !== undefined) {
      const sentence = `There is already a token of ${held.name}: remove it first with "profilectl tokens remove ${held.identifier}", or choose another name.`;
      throw new AppError('refused', sentence);
    }
    const added = { identifier, name, folded, tokenHash: hashOf(token), rights, excludesContactFields, addedAt: atMs };
    const data = { backend: name, rights, withoutAddress: excludesContactFields };
    addEvent(tx, { by, atMs }, { subject: 'token', event: 'added', about: identifier, data });
    return tx.insert(backendTokens).values(added).returning().get();
  });
  return { ...viewOf(row), token };
}

function checkNewToken({ name, rights }: NewToken): BackendRight[] {
  const fault = nameFault(name);
  if (fault !== null) throw new AppError('usage', `The name of a backend ${fault}.`);
  const known = BACKEND_RIGHTS.filter((right) => rights.includes(right));
  if (known.length === 0 || rights.some((right) => !(BACKEND_RIGHTS as readonly string[]).includes(right))) {
    throw new AppError('usage', `--right must be ${BACKEND_RIGHTS.join(' or ')}; repeat it for both.`);
  }
  return known;
}

/** A new token and its identifier, which is safe to show and log. */
export function newTokenText(random: Random): { token: string; identifier: string } {
  const identifier = newIdentifier(random);
  const body = `plp_${identifier}_${randomBase62(32, random)}`;
  return { token: body + checksumOf(body), identifier };
}

/** All tokens, oldest first. */
export function listTokens(db: Db): TokenView[] {
  return db
    .select()
    .from(backendTokens)
    .orderBy(asc(backendTokens.addedAt), asc(backendTokens.identifier))
    .all()
    .map(viewOf);
}

/** Returns the token with this identifier or name. Throws `not_found`. */
export function findToken(db: Db, named: string): TokenView {
  const all = listTokens(db);
  const found =
    all.find(({ identifier }) => identifier === named) ?? all.find(({ name }) => foldName(name) === foldName(named));
  if (found === undefined) throw noSuchToken(named);
  return found;
}

/**
 * Removes a token by its identifier: from then on it is refused, and the links and sessions that came from its
 * hand-overs are gone. Returns how many sessions ended. Throws `not_found`.
 */
export function removeToken({ db, clock }: Pick<Deps, 'db' | 'clock'>, identifier: string, by: Actor): number {
  return write(db, (tx) => {
    const opened = tx.$client.query<{ n: number }, [string, number]>(
      'SELECT count(*) AS n FROM sign_ins WHERE opened_by = ? AND idle_until > ?',
    );
    const atMs = clock.nowMs();
    const ended = opened.get(identifier, atMs)?.n ?? 0;
    const [removed] = tx.delete(backendTokens).where(eq(backendTokens.identifier, identifier)).returning().all();
    if (removed === undefined) throw noSuchToken(identifier);
    const data = { backend: removed.name };
    addEvent(tx, { by, atMs }, { subject: 'token', event: 'removed', about: identifier, data });
    return ended;
  });
}

/** The token of a request; null if the text is malformed, unknown, or a removed token. */
export function readBackendToken(db: Db | Tx, token: string): BackendToken | null {
  const [, identifier] = TOKEN.exec(token) ?? [];
  // A mistyped one costs no statement.
  if (identifier === undefined || !token.endsWith(checksumOf(token.slice(0, -CHECKSUM_LENGTH)))) return null;
  const row = db.select().from(backendTokens).where(eq(backendTokens.identifier, identifier)).get();
  return row !== undefined && timingSafeEqual(row.tokenHash, hashOf(token)) ? row : null;
}

/** The refusal of a token that does not exist. */
export const INVALID_TOKEN = new AppError('invalid_token', 'This token is not valid.');

/** Throws `invalid_token` if a token was removed after its request was admitted; called in the transaction that writes. */
export function requireToken({ $client }: Tx, identifier: string): void {
  if ($client.query('SELECT 1 FROM backend_tokens WHERE identifier = ?').get(identifier) === null) throw INVALID_TOKEN;
}

/** Whether {@link noteTokenUse} would write. */
export function isTokenUseDue(nowMs: number, { lastUsedAt }: BackendToken): boolean {
  return lastUsedAt === null || Math.abs(nowMs - lastUsedAt) >= USE_STEP_MS;
}

/** Records the use of a token; called after the response. */
export function noteTokenUse({ db, clock }: Pick<Deps, 'db' | 'clock'>, { identifier }: BackendToken): void {
  writeLoosely(db, (tx) =>
    tx.update(backendTokens).set({ lastUsedAt: clock.nowMs() }).where(eq(backendTokens.identifier, identifier)).run(),
  );
}

function viewOf({ identifier, name, rights, excludesContactFields, addedAt, lastUsedAt }: BackendToken): TokenView {
  return {
    identifier,
    name,
    rights,
    withoutAddress: excludesContactFields,
    addedAt: isoTime(addedAt),
    lastUsedAt: lastUsedAt === null ? null : isoTime(lastUsedAt),
  };
}

function noSuchToken(named: string): AppError {
  return new AppError('not_found', `There is no token ${named}.`);
}
