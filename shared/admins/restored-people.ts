import { eq } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import { hasTable } from '../db/catalog.ts';
import type { Db, Sqlite } from '../db/connect.ts';
import { admins, passkeys, platformTokens } from '../db/schema/people.ts';
import { withTables } from '../db/tables.ts';
import { write } from '../db/write.ts';
import { addPeopleEvent } from '../passkeys/people-log.ts';

/**
 * People in a backup who are missing from the database that it replaces: admins, passkeys of admins who are in both,
 * and backends' tokens. They may have been removed since the backup was made.
 */
export type RestoredPeople = {
  admins: string[];
  passkeys: { admin: string; name: string }[];
  tokens: { name: string; identifier: string }[];
};

/** Whether these people are restored, who decides that, and when. */
export type PeopleDecision = { isRestored: boolean; by: Actor; atMs: number };

/** The people in a database, by identifying bytes in hexadecimal. */
export type KnownPeople = { admins: ReadonlySet<string>; passkeys: ReadonlySet<string>; tokens: ReadonlySet<string> };

/** The people in a database that is missing or damaged. */
export const NOBODY: KnownPeople = { admins: new Set(), passkeys: new Set(), tokens: new Set() };

/** Reads the people in a database. */
export function readPeople(sqlite: Sqlite): KnownPeople {
  if (!hasTable(sqlite, 'platform_tokens')) return NOBODY;
  const db = withTables({ $client: sqlite });
  const known = (rows: { bytes: Buffer }[]) => new Set(rows.map(({ bytes }) => bytes.toString('hex')));
  return {
    admins: known(db.select({ bytes: admins.userHandle }).from(admins).all()),
    passkeys: known(db.select({ bytes: passkeys.credentialId }).from(passkeys).all()),
    tokens: known(db.select({ bytes: platformTokens.tokenHash }).from(platformTokens).all()),
  };
}

/**
 * Finds these people in the copy of a backup, before it replaces the database with the people `known`. Removes them
 * from the copy unless they are to be restored, and logs that in the copy.
 */
export function settlePeople(copy: Sqlite, known: KnownPeople, decision: PeopleDecision): RestoredPeople {
  const found: RestoredPeople = { admins: [], passkeys: [], tokens: [] };
  const db = withTables({ $client: copy });
  const { isRestored, by, atMs } = decision;
  const event = eventOf(decision);
  settleTokens(db, known, decision, found);
  const rows = db.select().from(admins).orderBy(admins.id).all();
  const held = db.select().from(passkeys).orderBy(passkeys.id).all();
  const newAdmins = rows.filter(({ userHandle }) => !known.admins.has(userHandle.toString('hex')));
  const newPasskeys = held.filter(({ credentialId }) => !known.passkeys.has(credentialId.toString('hex')));
  if (newAdmins.length + newPasskeys.length === 0) return found;
  write(db, (tx) => {
    for (const { id, name } of newAdmins) {
      found.admins.push(name);
      if (!isRestored) {
        tx.delete(passkeys).where(eq(passkeys.adminId, id)).run();
        tx.delete(admins).where(eq(admins.id, id)).run();
      }
      addPeopleEvent(tx, { atMs, by, event, kind: 'admin', name });
    }
    for (const { id, adminId, name } of newPasskeys) {
      // The passkeys of an unknown admin were removed together with the admin.
      if (newAdmins.some((one) => one.id === adminId)) continue;
      const admin = rows.find((one) => one.id === adminId)?.name ?? '';
      found.passkeys.push({ admin, name });
      if (!isRestored) tx.delete(passkeys).where(eq(passkeys.id, id)).run();
      addPeopleEvent(tx, { atMs, by, event, kind: 'admin', name: admin, detail: { passkey: name } });
    }
  });
  return found;
}

function eventOf({ isRestored }: PeopleDecision): 'added by a restore' | 'left out of a restore' {
  return isRestored ? 'added by a restore' : 'left out of a restore';
}

function settleTokens(db: Db, known: KnownPeople, decision: PeopleDecision, found: RestoredPeople): void {
  const rows = db.select().from(platformTokens).orderBy(platformTokens.addedAt).all();
  const newTokens = rows.filter(({ tokenHash }) => !known.tokens.has(tokenHash.toString('hex')));
  if (newTokens.length === 0) return;
  const { isRestored, by, atMs } = decision;
  write(db, (tx) => {
    for (const { identifier, name } of newTokens) {
      found.tokens.push({ name, identifier });
      if (!isRestored) tx.delete(platformTokens).where(eq(platformTokens.identifier, identifier)).run();
      const detail = { token: identifier };
      addPeopleEvent(tx, { atMs, by, event: eventOf(decision), kind: 'backend', name, detail });
    }
  });
}
