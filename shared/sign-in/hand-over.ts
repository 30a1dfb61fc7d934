import { eq } from 'drizzle-orm';
import { SERVICE } from '../actor.ts';
import { isoTime } from '../clock.ts';
import { profiles } from '../db/schema.ts';
import { write, writeLoosely } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { mailSignIn } from '../mail/outbox.ts';
import { readProfileRow } from '../profiles/find.ts';
import { requireToken } from '../tokens.ts';
import { beginSignIn, browserName, type Client } from './sessions.ts';
import { makeTicket, newToken, readTicket, useTicket } from './tickets.ts';

// Hand-overs: a customer's backend has already signed its user in. It gets a one-time URL and sends the user's browser
// there; one click then signs the user in as the owner of their profile. A URL works once, for a minute, and only while
// the profile and its e-mail address are unchanged and the backend's token exists. Functions throw `refused` if the
// database can't be written.

/** The user that a backend hands over. */
type HandedOver = { uid: number } | { authId: string };

/**
 * Makes a URL for the owner of a profile, on behalf of the backend's token with the identifier `openedBy`; everything
 * that comes from it ends with that token. `expiresAt` is ISO 8601 in UTC. Throws `not_found`, and
 * `invalid_token` if the token was removed.
 */
export function handOver({ db, clock, random, config }: Deps, who: HandedOver, openedBy: string) {
  const secret = newToken(random);
  const isWanted = 'uid' in who ? eq(profiles.id, who.uid) : eq(profiles.authId, who.authId);
  const untilMs = writeLoosely(db, (tx) => {
    requireToken(tx, openedBy);
    const profile = tx.select({ id: profiles.id }).from(profiles).where(isWanted).get();
    if (profile === undefined) throw new AppError('not_found');
    return makeTicket(tx, 'hand-over', secret, { profileId: profile.id, openedBy }, clock.nowMs());
  });
  return { address: `${config.publicUrl}/developers/enter?ticket=${secret}`, expiresAt: isoTime(untilMs) };
}

/**
 * Looks a URL up by its secret without changing anything, for the page that is shown before it is used. Throws
 * `not_found`, with one sentence for all reasons.
 */
export function readHandOver({ db, clock }: Deps, secret: string): { profileId: number; username: string } {
  const profileId = readTicket(db, 'hand-over', secret, clock.nowMs())?.profileId;
  const profile = profileId == null ? undefined : readProfileRow(db, profileId);
  if (profile === undefined) throw invalidLink();
  return { profileId: profile.id, username: profile.username };
}

/**
 * Uses up a URL, signs the owner in, and stores the mail that tells them so. Returns the token of the sign-in. Throws
 * `not_found` like {@link readHandOver}; if a URL is used twice, only one use succeeds.
 */
export function enterHandOver(deps: Deps, secret: string, client: Client): string {
  const { db, clock, config } = deps;
  return write(db, (tx) => {
    const atMs = clock.nowMs();
    const { profileId = null, openedBy = null } = useTicket(tx, 'hand-over', secret, atMs) ?? {};
    if (profileId === null) throw invalidLink();
    // Our own description of the client: a User-Agent, which a stranger can choose, is never mailed.
    const agent = browserName(client.agent);
    mailSignIn(tx, config, { profileId, address: client.address, agent }, { by: SERVICE, atMs });
    return beginSignIn(tx, deps, { profileId, adminId: null }, client, openedBy);
  });
}

function invalidLink(): AppError {
  const sentence =
    'This link is invalid or has expired. It works once, for a minute. Go back to the page that sent you here, and try again.';
  return new AppError('not_found', sentence);
}
