import { eq, inArray } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import { systemClock } from '../clock.ts';
import type { Db, Sqlite, Tx } from '../db/connect.ts';
import type { KeyState } from '../db/key-columns.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { admins, backendTokens, passkeys } from '../db/schema/people.ts';
import { erasedProfiles, profiles } from '../db/schema/profiles.ts';
import { withTables } from '../db/tables.ts';
import { write } from '../db/write.ts';
import { effectsOnKeys, eraseProfiles } from '../erasure/erase-profile.ts';
import { addEvent } from '../events.ts';
import { type Move, stateAt } from '../keys/key.ts';
import { moveKey } from '../keys/record.ts';
import { type QuotaRow, readQuotaRows, replaceQuotaRows } from '../limits/stored.ts';
import type { MailConfig } from '../mail/outbox.ts';
import { setBanned } from '../profiles/ban.ts';

// What a restore takes from the database that it replaces: whatever was ended there since the backup was made, and what keys
// have spent of their rate limits.

/**
 * What is ended in a database: profiles, bans and keys; of people, who is still there, by identifying bytes; of rate limits, what
 * is spent.
 */
export type Ended = {
  erased: { uid: number; atMs: number }[];
  banned: number[];
  keys: { identifier: string; state: KeyState; expiresAt: number | null }[];
  people: { admins: Set<string>; passkeys: Set<string>; tokens: Set<string> };
  quotas: QuotaRow[];
};

/** What a restore did with what the backup has and the replaced database has ended, or (people) does not know. */
export type Kept = {
  erased: number[];
  banned: number[];
  keys: string[];
  admins: string[];
  passkeys: { admin: string; name: string }[];
  tokens: { name: string; identifier: string }[];
};

/** Reads what is ended in a database. Throws SQLite's errors. */
export function readEnded(sqlite: Sqlite): Ended {
  const db = withTables({ $client: sqlite });
  const nowMs = systemClock.nowMs();
  const hex = (rows: { bytes: Buffer }[]) => new Set(rows.map(({ bytes }) => bytes.toString('hex')));
  const columns = { identifier: apiKeys.identifier, state: apiKeys.state, expiresAt: apiKeys.expiresAt };
  return {
    erased: db.select({ uid: erasedProfiles.id, atMs: erasedProfiles.at }).from(erasedProfiles).all(),
    banned: bannedIn(db),
    keys: db
      .select(columns)
      .from(apiKeys)
      .all()
      .map((key) => ({ ...key, state: stateAt(key, nowMs) })),
    people: {
      admins: hex(db.select({ bytes: admins.userHandle }).from(admins).all()),
      passkeys: hex(db.select({ bytes: passkeys.credentialId }).from(passkeys).all()),
      tokens: hex(db.select({ bytes: backendTokens.tokenHash }).from(backendTokens).all()),
    },
    quotas: readQuotaRows(sqlite),
  };
}

function bannedIn(db: Db): number[] {
  return db
    .select({ id: profiles.id })
    .from(profiles)
    .where(eq(profiles.banned, true))
    .all()
    .map(({ id }) => id);
}

/**
 * Ends in the copy of a backup what is ended in the database that it replaces. If that is unknown (null), everything
 * stays as it is in the backup, and all its admins and tokens are returned: some may have been removed since.
 */
export function keepEnded(copy: Sqlite, ended: Ended | null, { by, config }: { by: Actor; config: MailConfig }): Kept {
  const db = withTables({ $client: copy });
  const kept: Kept = { erased: [], banned: [], keys: [], admins: [], passkeys: [], tokens: [] };
  const atMs = systemClock.nowMs();
  if (ended !== null) {
    keepErased(db, ended, by, kept);
    keepBanned(db, ended, by, config, kept);
  }
  write(db, (tx) => {
    if (ended !== null) {
      keepKeys(tx, ended, { by, atMs }, kept);
      replaceQuotaRows(copy, ended.quotas);
    }
    settlePeople(tx, ended?.people ?? null, { by, atMs }, kept);
    addEvent(tx, { by, atMs }, { subject: 'database', event: 'restored' });
  });
  return kept;
}

/** Repeats erasures, with their times, so that importing a file with older data does not restore the profiles. */
function keepErased(db: Db, { erased }: Ended, by: Actor, kept: Kept): void {
  const nowMs = systemClock.nowMs();
  const known = new Map(
    db
      .select()
      .from(erasedProfiles)
      .all()
      .map(({ id, at }) => [id, at]),
  );
  // The backup may have an erasure itself, and a later profile of that id. A time in the future is a wrong clock's.
  const undone = erased
    .map(({ uid, atMs }) => ({ uid, atMs: Math.min(atMs, nowMs) }))
    .filter(({ uid, atMs }) => (known.get(uid) ?? 0) < atMs);
  const exists = db.$client.prepare('SELECT 1 FROM profiles WHERE id = ?');
  kept.erased = undone.map(({ uid }) => uid).filter((uid) => exists.get(uid) !== null);
  if (undone.length > 0) eraseProfiles({ db, clock: systemClock }, undone, by);
}

function keepBanned(db: Db, { banned }: Ended, by: Actor, config: MailConfig, kept: Kept): void {
  const already = new Set(bannedIn(db));
  const exists = db.$client.prepare('SELECT 1 FROM profiles WHERE id = ?');
  kept.banned = banned.filter((id) => !already.has(id) && exists.get(id) !== null);
  for (const id of kept.banned) {
    setBanned({ db, clock: systemClock }, { id, banned: true, by, onKeys: effectsOnKeys(by, config) });
  }
}

/** What ends a key that is in the first state in the backup and was ended in the second since. */
function moveTo(from: KeyState, to: KeyState): Move | null {
  // Such a request was approved since, and the key then ended: it must not be approved once more unseen.
  if (from === 'pending') return to === 'withdrawn' ? 'withdraw' : 'reject';
  if (from === 'Active' && to === 'suspended') return 'suspend';
  return (from === 'Active' || from === 'suspended') && to !== 'suspended' ? 'revoke' : null;
}

function keepKeys(tx: Tx, { keys }: Ended, act: { by: Actor; atMs: number }, kept: Kept): void {
  const ended = new Map(
    keys.filter(({ state }) => state !== 'pending' && state !== 'Active').map((key) => [key.identifier, key]),
  );
  const open = tx
    .select()
    .from(apiKeys)
    .where(inArray(apiKeys.state, ['pending', 'Active', 'suspended']))
    .all();
  for (const key of open) {
    const state = stateAt(key, act.atMs);
    const move = moveTo(state, ended.get(key.identifier)?.state ?? 'Active');
    if (!ended.has(key.identifier) || move === null) continue;
    moveKey(tx, key, move, act, { detail: { reason: 'This had ended before a backup was restored.' } });
    kept.keys.push(key.identifier);
  }
}

type People = Ended['people'] | null;

function settlePeople(tx: Tx, known: People, { by, atMs }: { by: Actor; atMs: number }, kept: Kept): void {
  const event = known === null ? 'restored' : 'left out';
  const isNew = (of: keyof Ended['people'], bytes: Buffer) => known?.[of].has(bytes.toString('hex')) !== true;
  for (const { identifier, name, tokenHash } of tx.select().from(backendTokens).orderBy(backendTokens.addedAt).all()) {
    if (!isNew('tokens', tokenHash)) continue;
    kept.tokens.push({ name, identifier });
    if (known !== null) tx.delete(backendTokens).where(eq(backendTokens.identifier, identifier)).run();
    addEvent(tx, { by, atMs }, { subject: 'token', event, about: identifier, data: { backend: name } });
  }
  for (const { id: adminId, name: admin, userHandle } of tx.select().from(admins).orderBy(admins.id).all()) {
    const isUnknown = isNew('admins', userHandle);
    for (const { id, name, credentialId } of tx.select().from(passkeys).where(eq(passkeys.adminId, adminId)).all()) {
      if (!isNew('passkeys', credentialId)) continue;
      if (known !== null) tx.delete(passkeys).where(eq(passkeys.id, id)).run();
      // The passkeys of an unknown admin go, or come back, together with the admin.
      if (isUnknown) continue;
      kept.passkeys.push({ admin, name });
      addEvent(tx, { by, atMs }, { subject: 'admin', event, about: admin, data: { passkey: name } });
    }
    if (!isUnknown) continue;
    kept.admins.push(admin);
    if (known !== null) tx.delete(admins).where(eq(admins.id, adminId)).run();
    addEvent(tx, { by, atMs }, { subject: 'admin', event, about: admin });
  }
}
