import { and, eq, gt, ne, sql } from 'drizzle-orm';
import { DAY_MS } from '../clock.ts';
import type { Db } from '../db/connect.ts';
import { keepQuery } from '../db/prepared-query.ts';
import type { Random } from '../random.ts';
import { knownBrowsers } from '../sessions-file/schema.ts';
import { hashOf, newToken } from '../sessions-file/tokens.ts';
import type { Binding } from '../sessions-file/whose.ts';

// Browsers in which an owner has signed in. A known browser has no more access than others, but its own count of
// sign-in mails, so that strangers can't lock the owner out by using up the owner's count. It is recognised by a
// cookie, whose token is stored as SHA-256.

/** How long a browser stays known after a sign-in. */
export const KNOWN_FOR_MS = 90 * DAY_MS;

/**
 * Whether the owner has signed in with this cookie's browser in the last 90 days, under their current e-mail address.
 * `token` is null without a cookie.
 */
export function isKnownBrowser(db: Db, token: string | null, owner: Binding, nowMs: number): boolean {
  // The same query runs without a cookie: no token is empty, so the hash of '' matches no row.
  return knownBrowser(db).get({ ...owner, tokenHash: hashOf(token ?? ''), nowMs }) !== undefined;
}

const knownBrowser = keepQuery((db) => {
  const { tokenHash, profileId, generation, addressHash } = knownBrowsers;
  const isTheirs = and(
    eq(tokenHash, sql.placeholder('tokenHash')),
    eq(profileId, sql.placeholder('profileId')),
    eq(generation, sql.placeholder('generation')),
    eq(addressHash, sql.placeholder('addressHash')),
  );
  return db
    .select({ profileId })
    .from(knownBrowsers)
    .where(and(isTheirs, gt(knownBrowsers.signedInAt, sql`${sql.placeholder('nowMs')} - ${KNOWN_FOR_MS}`)))
    .prepare();
});

/**
 * Records that the owner has signed in with this cookie's browser, and returns a new token for the cookie. Other owners
 * whom the browser knew by the old token are known by the new one.
 */
export function rememberBrowser(
  db: Db,
  random: Random,
  token: string | null,
  { profileId, generation, addressHash }: Binding,
  nowMs: number,
): string {
  const next = newToken(random);
  const tokenHash = hashOf(next);
  if (token !== null) {
    db.update(knownBrowsers)
      .set({ tokenHash })
      .where(eq(knownBrowsers.tokenHash, hashOf(token)))
      .run();
  }
  const bound = { generation, addressHash, signedInAt: nowMs };
  db.insert(knownBrowsers)
    .values({ tokenHash, profileId, ...bound })
    .onConflictDoUpdate({ target: [knownBrowsers.tokenHash, knownBrowsers.profileId], set: bound })
    .run();
  return next;
}

/** Forgets the browsers of this profile's owner, except the one with the cookie `kept`, if any. */
export function forgetBrowsers(db: Db, profileId: number, kept: string | null): void {
  const isOther = kept === null ? undefined : ne(knownBrowsers.tokenHash, hashOf(kept));
  db.delete(knownBrowsers)
    .where(and(eq(knownBrowsers.profileId, profileId), isOther))
    .run();
}
