import { and, eq } from 'drizzle-orm';
import { isoTime } from '../clock.ts';
import type { Sqlite, Tx } from '../db/connect.ts';
import { admins } from '../db/schema/people.ts';
import { write } from '../db/write.ts';
import { AppError } from '../errors.ts';
import { textInput } from '../keys/input-rules.ts';
import { parseInput } from '../keys/parse-input.ts';
import { addEnrolmentNotice } from '../notices/people.ts';
import type { Access, Client } from './access.ts';
import { consumeChallenge, makeChallenge } from './challenges.ts';
import { COSE_ALGORITHMS } from './cose.ts';
import { type Admin, findPasskey, insertPasskey, listPasskeys } from './passkeys.ts';
import { addPeopleEvent } from './people-log.ts';
import { dropPast, isWithin } from './periods.ts';
import { relyingPartyOf } from './relying-party.ts';
import { readSessions, writeSessions } from './sessions-file.ts';
import { hashOf, newToken } from './tokens.ts';
import { type Credential, challengeIn, type Registration, type RelyingParty, verifyRegistration } from './webauthn.ts';

// The addresses at which admins register a passkey: each works once, for 15 minutes, and only while the admin was not
// invited anew or removed. The secret stands behind the # of the address, which browsers keep to themselves: it is in no
// log of a proxy and in no Referer. The page's script sends it in the body of a POST.

const WORKS_FOR_MS = 15 * 60_000;

/** Where a passkey is registered. The address is shown this once; stored is only the SHA-256 of its secret. */
export type Invitation = { name: string; address: string; expiresAt: string };

/** What the page of an address may show before anything is decided. */
export type Enrolment = { name: string; expiresAtMs: number };

/** What a browser needs to make a passkey; all but the names are base64url or numbers, as WebAuthn wants them. */
export type RegistrationOptions = {
  challenge: string;
  party: RelyingParty;
  user: { handle: string; name: string };
  algorithms: readonly number[];
  /** The passkeys that this admin has: a device that keeps one of them is to make no second one. */
  credentialIds: string[];
};

type Row = { admin: string; generation: number; madeAt: number };

/** What its owner calls a passkey, to tell it from others. */
const PASSKEY_NAME = textInput({ label: 'name of the passkey', least: 1, most: 64, lines: false });

/**
 * Makes an address for the admin of this name and generation. Older ones stay in the table, where they lead nowhere once the
 * admin has another generation: of two commands at once, the one that stores its generation last has the address that works.
 */
export function invite(access: Access, name: string, generation: number): Invitation {
  const secret = newToken(access.random);
  const madeAtMs = writeSessions(access.sessions, (sqlite) => {
    const nowMs = access.clock.nowMs();
    dropOldEnrolments(sqlite, access.clock.settledMs());
    sqlite
      .query('INSERT INTO enrolments (secret_hash, admin, generation, made_at) VALUES (?, ?, ?, ?)')
      .run(hashOf(secret), name, generation, nowMs);
    return nowMs;
  });
  const address = `${access.config.publicUrl}/developers/enrol#${secret}`;
  return { name, address, expiresAt: isoTime(madeAtMs + WORKS_FOR_MS) };
}

/** Deletes the addresses whose time is over, inside a transaction of the caller. */
export function dropOldEnrolments(sqlite: Sqlite, settledMs: number | null): void {
  dropPast(sqlite, { table: 'enrolments', column: 'made_at', lengthMs: WORKS_FOR_MS }, settledMs);
}

/** Until when an admin's address works, milliseconds since 1970; null where there is none or it was used. */
export function invitedUntil(access: Access, { name, generation }: Pick<Admin, 'name' | 'generation'>): number | null {
  const row = readSessions(access.sessions, (sqlite) =>
    sqlite
      .query<{ madeAt: number }, [string, number]>(
        'SELECT made_at AS madeAt FROM enrolments WHERE admin = ? AND generation = ?',
      )
      .get(name, generation),
  );
  const isOpen = row !== null && isWithin(row.madeAt, WORKS_FOR_MS, access.clock.nowMs());
  return isOpen ? row.madeAt + WORKS_FOR_MS : null;
}

/** Looks an address up by its secret and changes nothing. Throws `forbidden`, with one sentence for all reasons. */
export function readEnrolment(access: Access, secret: string): Enrolment {
  const { admin, expiresAtMs } = find(access, secret);
  return { name: admin.name, expiresAtMs };
}

/** Begins a registration at an address. Throws `forbidden`, `refused` where PUBLIC_URL can't have passkeys, and what challenges throw. */
export function beginRegistration(access: Access, secret: string): RegistrationOptions {
  const party = relyingPartyOf(access.config.publicUrl);
  const { admin } = find(access, secret);
  const challenge = makeChallenge(access, { purpose: 'enrolment', admin, about: aboutOf(secret) });
  const user = { handle: admin.userHandle.toString('base64url'), name: admin.name };
  const credentialIds = listPasskeys(access.db, admin.name).map(({ credentialId }) =>
    credentialId.toString('base64url'),
  );
  return { challenge, party, user, algorithms: Object.values(COSE_ALGORITHMS), credentialIds };
}

/**
 * Registers a passkey at an address, under a name that tells it from others, and uses the address up. The passkey counts
 * only once it was confirmed on the box, and ADMIN_EMAIL is told of it. Throws `forbidden`, and uses up the challenge but
 * not the address, where the registration is not as it must be; `forbidden` for an address that does not work; `usage` for a
 * name that can't be one; and `busy`, which uses up the challenge only.
 */
export function register(
  access: Access,
  secret: string,
  sent: Registration & { name: string },
  client: Client,
): { name: string; passkey: string } {
  const party = relyingPartyOf(access.config.publicUrl);
  const name = parseInput(PASSKEY_NAME, sent.name);
  const { admin: wanted } = find(access, secret);
  const challenge = challengeIn(sent.clientDataJson);
  consumeChallenge(access, challenge, { purpose: 'enrolment', admin: wanted, about: aboutOf(secret) });
  const credential = verifyRegistration(party, challenge, sent);
  if (findPasskey(access.db, credential.credentialId) !== null) {
    throw new AppError('forbidden', 'This passkey is registered already.');
  }
  // One inside the other: where the database is locked, the address stays.
  writeSessions(access.sessions, (sqlite) => {
    const { admin: invited, generation } = useUp(access, sqlite, secret);
    write(access.db, (tx) => {
      const isInvited = and(eq(admins.name, invited), eq(admins.generation, generation));
      const admin = tx.select().from(admins).where(isInvited).get();
      if (admin === undefined) throw notValid();
      storePasskey(access, tx, { admin, credential, name }, client);
    });
  });
  return { name: wanted.name, passkey: name };
}

/** Stores a passkey, that it was registered, and that ADMIN_EMAIL is to be told. */
function storePasskey(
  { clock, config }: Access,
  tx: Tx,
  { admin, credential, name }: { admin: Admin; credential: Credential; name: string },
  client: Client,
): void {
  const atMs = clock.nowMs();
  insertPasskey(tx, admin, credential, { name, atMs, client });
  const about = { kind: 'admin', name: admin.name } as const;
  const detail = { passkey: name };
  addPeopleEvent(tx, { ...about, atMs, by: { ...about, hasAsserted: false }, event: 'passkey registered', detail });
  addEnrolmentNotice(tx, config, { admin: admin.name, atMs, address: client.address });
}

function find(access: Access, secret: string): { admin: Admin; expiresAtMs: number } {
  const row = readSessions(access.sessions, (sqlite) =>
    sqlite
      .query<Row, [Uint8Array]>('SELECT admin, generation, made_at AS madeAt FROM enrolments WHERE secret_hash = ?')
      .get(hashOf(secret)),
  );
  if (row === null || !isWithin(row.madeAt, WORKS_FOR_MS, access.clock.nowMs())) throw notValid();
  const isInvited = and(eq(admins.name, row.admin), eq(admins.generation, row.generation));
  const admin = access.db.select().from(admins).where(isInvited).get();
  if (admin === undefined) throw notValid();
  return { admin, expiresAtMs: row.madeAt + WORKS_FOR_MS };
}

/** Deletes the address, which at most one process can do, inside a transaction of the caller. */
function useUp({ clock }: Access, sqlite: Sqlite, secret: string): Row {
  const row = sqlite
    .query<Row, [Uint8Array]>(
      'DELETE FROM enrolments WHERE secret_hash = ? RETURNING admin, generation, made_at AS madeAt',
    )
    .get(hashOf(secret));
  if (row === null || !isWithin(row.madeAt, WORKS_FOR_MS, clock.nowMs())) throw notValid();
  return row;
}

function aboutOf(secret: string): string {
  return Buffer.from(hashOf(secret)).toString('hex');
}

function notValid(): AppError {
  return new AppError(
    'forbidden',
    'This address does not work, or not any more: it works once, for 15 minutes. Ask the operator for another, which "profilectl admins invite" prints.',
  );
}
