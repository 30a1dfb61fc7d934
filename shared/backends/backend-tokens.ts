import { asc, eq } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import { isoTime } from '../clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { BACKEND_RIGHTS, type BackendRight } from '../db/people-columns.ts';
import { platformTokens } from '../db/schema/people.ts';
import { write } from '../db/write.ts';
import { AppError } from '../errors.ts';
import { addEvent } from '../events.ts';
import { foldName, nameFault } from '../profiles/name.ts';
import type { Access } from '../sessions-file/access.ts';
import { hashOf, isSameHash } from '../sessions-file/tokens.ts';
import { endOpenedBy } from '../sign-in/end-all.ts';
import { newTokenText, readTokenText } from '../sign-ins/token-text.ts';
import { readUses } from './token-uses.ts';

// Tokens of backends: the operator adds and removes them, and requests carry them.

/** The maximum number of tokens of one name: a new token is added before the old one is removed. */
const MAX_TOKENS_PER_NAME = 2;

/** The default and the maximum number of profiles that a backend may erase per day (UTC). */
export const ERASE_LIMIT = { default: 1_000, max: 1_000_000_000 } as const;

/** The settings of a new token. */
export type NewToken = {
  name: string;
  rights: readonly string[];
  /** Whether its lines leave the profiles' `email`, `authId` and `banned` unchanged. */
  excludesContactFields: boolean;
  /** The number of profiles that it may erase per day (UTC). */
  eraseLimit: number;
};

/** A token as it is shown; times are ISO 8601 in UTC. */
export type TokenView = {
  identifier: string;
  name: string;
  rights: BackendRight[];
  withoutAddress: boolean;
  eraseLimit: number;
  addedAt: string;
  /** To the minute; null if it was never used. */
  lastUsedAt: string | null;
};

/** The token of a request, with its name, rights and limits. */
export type BackendToken = Pick<TokenView, 'identifier' | 'name' | 'rights' | 'eraseLimit'> & {
  excludesContactFields: boolean;
};

/**
 * Adds a token for a backend. The token itself is returned only here and never stored. Throws `usage` for an invalid
 * name, unknown rights and a limit out of bounds, and `refused` if the name already has two tokens.
 */
export function addToken(access: Access, wanted: NewToken, by: Actor): TokenView & { token: string } {
  const { name, excludesContactFields, eraseLimit } = wanted;
  const rights = checkNewToken(wanted);
  const { token, identifier } = newTokenText(access.random);
  const folded = foldName(name);
  const tokenHash = hashOf(token);
  const row = write(access.db, (tx) => {
    const atMs = access.clock.nowMs();
    const held = tx.select().from(platformTokens).where(eq(platformTokens.folded, folded)).all();
    if (held.length >= MAX_TOKENS_PER_NAME) {
      const which = held.map((one) => one.identifier).join(' and ');
      const sentence = `${name} already has two tokens, ${which}; remove one of them with "profilectl tokens remove".`;
      throw new AppError('refused', sentence);
    }
    const added = { identifier, name, folded, tokenHash, rights, excludesContactFields, eraseLimit, addedAt: atMs };
    tx.insert(platformTokens).values(added).run();
    const data = { backend: name, rights, withoutAddress: excludesContactFields, eraseLimit };
    addEvent(tx, { by, atMs }, { subject: 'token', event: 'added', about: identifier, data });
    return added;
  });
  return { ...viewOf(row, null), token };
}

function checkNewToken({ name, rights, eraseLimit }: NewToken): BackendRight[] {
  const fault = nameFault(name);
  if (fault !== null) throw new AppError('usage', `The name of a backend ${fault}.`);
  const known = BACKEND_RIGHTS.filter((right) => rights.includes(right));
  if (known.length === 0 || rights.some((right) => !(BACKEND_RIGHTS as readonly string[]).includes(right))) {
    throw new AppError('usage', `--right must be ${BACKEND_RIGHTS.join(' or ')}; repeat it for both.`);
  }
  if (!Number.isInteger(eraseLimit) || eraseLimit < 0 || eraseLimit > ERASE_LIMIT.max) {
    throw new AppError('usage', `--erase-limit must be a whole number from 0 to ${ERASE_LIMIT.max}.`);
  }
  return known;
}

/** All tokens, oldest first. */
export function listTokens({ db, sessions }: Access): TokenView[] {
  const uses = readUses(sessions);
  return db
    .select()
    .from(platformTokens)
    .orderBy(asc(platformTokens.addedAt), asc(platformTokens.identifier))
    .all()
    .map((row) => viewOf(row, uses.get(row.identifier) ?? null));
}

/**
 * Returns the token with this identifier, or the only one with this name. Throws `not_found` if there is none, and
 * `refused` if the name has two.
 */
export function findToken(access: Access, named: string): TokenView {
  const all = listTokens(access);
  const byIdentifier = all.find(({ identifier }) => identifier === named);
  if (byIdentifier !== undefined) return byIdentifier;
  const [first, second] = all.filter(({ name }) => foldName(name) === foldName(named));
  if (first === undefined) throw noSuchToken(named);
  if (second === undefined) return first;
  const which = `${first.identifier}, the older one, or ${second.identifier}`;
  throw new AppError('refused', `${first.name} has two tokens; specify one of them: ${which}.`);
}

/**
 * Removes a token by its identifier: from then on it is refused, and so are sign-in links and sessions that came
 * from its hand-overs. Returns how many sessions ended, or null if that could not be
 * stored yet; then the next sweep does it.
 */
export function removeToken(access: Access, identifier: string, by: Actor): number | null {
  write(access.db, (tx) => {
    const [removed] = tx.delete(platformTokens).where(eq(platformTokens.identifier, identifier)).returning().all();
    if (removed === undefined) throw noSuchToken(identifier);
    const act = { by, atMs: access.clock.nowMs() };
    addEvent(tx, act, { subject: 'token', event: 'removed', about: identifier, data: { backend: removed.name } });
  });
  try {
    return endOpenedBy(access, identifier);
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

/** The token of a request; null if the text is malformed, unknown, or a removed token. */
export function readBackendToken(db: Db | Tx, token: string): BackendToken | null {
  const identifier = readTokenText(token);
  if (identifier === null) return null;
  const row = db.select().from(platformTokens).where(eq(platformTokens.identifier, identifier)).get();
  if (row === undefined || !isSameHash(row.tokenHash, hashOf(token))) return null;
  const { name, rights, excludesContactFields, eraseLimit } = row;
  return { identifier, name, rights, excludesContactFields, eraseLimit };
}

function viewOf(
  row: Omit<typeof platformTokens.$inferSelect, 'folded' | 'tokenHash'>,
  usedAt: number | null,
): TokenView {
  const { identifier, name, rights, excludesContactFields, eraseLimit, addedAt } = row;
  return {
    identifier,
    name,
    rights,
    withoutAddress: excludesContactFields,
    eraseLimit,
    addedAt: isoTime(addedAt),
    lastUsedAt: usedAt === null ? null : isoTime(usedAt),
  };
}

function noSuchToken(named: string): AppError {
  return new AppError('not_found', `There is no token ${named}.`);
}
