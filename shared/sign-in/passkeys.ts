import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { and, asc, eq } from 'drizzle-orm';
import { SERVICE } from '../actor.ts';
import { isoTime } from '../clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { admins, passkeys } from '../db/schema.ts';
import { lockDeadline, whenFree, write, writeLoosely } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { addEvent } from '../events.ts';
import { parseInput } from '../keys/fields.ts';
import { textInput } from '../keys/inputs.ts';
import { mailAdmins } from '../mail/outbox.ts';
import { enrolmentMail } from '../mail/texts.ts';
import { shellWord } from '../text.ts';
import { agentText, beginSignIn, type Client, refuseSignedOut, type Session } from './sessions.ts';
import { makeTicket, newToken, readTicket, useTicket } from './tickets.ts';
import {
  ALGORITHMS,
  type Credential,
  checkAssertion,
  checkRegistration,
  type RelyingParty,
  readAnswer,
  relyingPartyOf,
} from './webauthn.ts';

// How admins register passkeys, and sign in with them. Each challenge is a ticket that works once, for five minutes.
// Functions throw `refused` if browsers don't support passkeys for PUBLIC_URL, and wait for the database's lock until
// `waitUntilMs` (`lockDeadline`).

/** A stored passkey. */
export type Passkey = typeof passkeys.$inferSelect;

/** A stored admin. */
export type Admin = typeof admins.$inferSelect;

/** All passkeys of an admin, oldest first. */
export function listPasskeys(db: Db | Tx, adminId: number): Passkey[] {
  return db.select().from(passkeys).where(eq(passkeys.adminId, adminId)).orderBy(asc(passkeys.id)).all();
}

function findPasskey(db: Db | Tx, credentialId: Buffer): { passkey: Passkey; admin: Admin } | undefined {
  return db
    .select({ passkey: passkeys, admin: admins })
    .from(passkeys)
    .innerJoin(admins, eq(admins.id, passkeys.adminId))
    .where(eq(passkeys.credentialId, credentialId))
    .get();
}

function findAdminById(db: Db | Tx, id: number | null | undefined): Admin | undefined {
  return id == null ? undefined : db.select().from(admins).where(eq(admins.id, id)).get();
}

function invalidChallenge(): AppError {
  return new AppError('forbidden', 'This took longer than five minutes, or was sent twice; start again.');
}

// Signing in.

/** The data that a browser needs to ask for a passkey's signature. */
export type AssertionOptions = { challenge: string; party: RelyingParty };

/** Starts a sign-in. */
export function beginPasskeySignIn({ db, clock, random, config }: Deps): AssertionOptions {
  const party = relyingPartyOf(config.publicUrl);
  const challenge = newToken(random);
  writeLoosely(db, (tx) => makeTicket(tx, 'passkey', challenge, {}, clock.nowMs()));
  return { challenge, party };
}

/**
 * Signs an admin in by an assertion (the JSON of a credential), which works once. Returns the token of the sign-in.
 * Throws `forbidden`.
 */
export async function signInByPasskey(
  deps: Deps,
  text: string,
  client: Client,
  waitUntilMs = lockDeadline(),
): Promise<string> {
  const { db, clock, config } = deps;
  const sent = readAnswer<AuthenticationResponseJSON>(text);
  const gone = () => new AppError('forbidden', 'This passkey is not registered here, or was removed.');
  const found = findPasskey(db, Buffer.from(sent.id, 'base64url'));
  if (found === undefined) throw gone();
  const { passkey, admin } = found;
  const party = relyingPartyOf(config.publicUrl);
  const signer = { ...passkey, userHandle: admin.userHandle.toString('base64url') };
  let challenge = '';
  const signCount = await checkAssertion(party, sent, signer, (signed) => {
    challenge = signed;
    if (readTicket(db, 'passkey', challenge, clock.nowMs()) === null) throw invalidChallenge();
  });
  const signIn = (tx: Tx) => {
    if (useTicket(tx, 'passkey', challenge, clock.nowMs()) === null) throw invalidChallenge();
    // The passkey may have been removed or used while its signature was verified.
    const isSame = and(eq(passkeys.id, passkey.id), eq(passkeys.signCount, passkey.signCount));
    const used = tx
      .update(passkeys)
      .set({ signCount, lastUsedAt: clock.nowMs() })
      .where(isSame)
      .returning({ id: passkeys.id })
      .all();
    if (used.length === 0) throw gone();
    return beginSignIn(tx, deps, { profileId: null, adminId: admin.id }, client);
  };
  return whenFree(db.$client, () => write(db, signIn), waitUntilMs);
}

// Links at which admins register their first passkey. The secret is in the URL's fragment, which browsers never send, so
// that it appears in no proxy's log and no Referer; the page's script sends it in the body of a POST.

/** A link for registering a passkey. It is returned only here. */
export type Invitation = { name: string; address: string; expiresAt: string };

/** Makes a link for an admin, in the caller's transaction. */
export function invite(tx: Tx, { clock, random, config }: Deps, { id, name }: Pick<Admin, 'id' | 'name'>): Invitation {
  const secret = newToken(random);
  const untilMs = makeTicket(tx, 'enrolment', secret, { adminId: id }, clock.nowMs());
  return { name, address: `${config.publicUrl}/developers/enrol#${secret}`, expiresAt: isoTime(untilMs) };
}

/** The admin of the link with this secret, and when it expires. Throws `forbidden`, with one sentence for all reasons. */
export function readEnrolment({ db, clock }: Deps, secret: string): { admin: Admin; expiresAtMs: number } {
  const ticket = readTicket(db, 'enrolment', secret, clock.nowMs());
  const admin = findAdminById(db, ticket?.adminId);
  if (ticket === null || admin === undefined) throw invalidEnrolment();
  return { admin, expiresAtMs: ticket.until };
}

function invalidEnrolment(): AppError {
  return new AppError(
    'forbidden',
    'This link is invalid or has expired. It works once, for 15 minutes. Ask the operator for another.',
  );
}

// Registering.

/**
 * The data that a browser needs to create a passkey, as in WebAuthn; the challenge, the handle and the credential IDs
 * are base64url.
 */
export type RegistrationOptions = {
  challenge: string;
  /** The name is shown in the browser's dialog. */
  party: RelyingParty & { name: string };
  user: { handle: string; name: string };
  algorithms: readonly number[];
  /** The admin's existing passkeys; a device with one of them must not create another. */
  credentialIds: string[];
};

const PASSKEY_NAME = textInput({ label: 'passkey name', min: 1, max: 64, lines: false });

/** Starts a registration: at a link, whose secret is given, or of another passkey of the signed-in admin. */
export function beginRegistration(deps: Deps, at: string | Session): RegistrationOptions {
  const { db, clock, random, config } = deps;
  const party = { ...relyingPartyOf(config.publicUrl), name: config.publicName };
  const challenge = newToken(random);
  const admin = writeLoosely(db, (tx) => {
    const found = typeof at === 'string' ? readEnrolment(deps, at).admin : signedIn(tx, at);
    makeTicket(tx, 'registration', challenge, { adminId: found.id }, clock.nowMs());
    return found;
  });
  return {
    challenge,
    party,
    user: { handle: admin.userHandle.toString('base64url'), name: admin.name },
    algorithms: ALGORITHMS,
    credentialIds: listPasskeys(db, admin.id).map(({ credentialId }) => credentialId.toString('base64url')),
  };
}

/** The admin of a session. Throws `signed_out` if it has ended. */
function signedIn(db: Db | Tx, { id, adminId }: Session): Admin {
  refuseSignedOut(db, { signInId: id });
  const admin = findAdminById(db, adminId);
  if (admin === undefined) throw new AppError('signed_out');
  return admin;
}

/** What the browser sends: the JSON of the credential, and the name that the admin gave the passkey. */
type Sent = { credential: string; name: string };

/**
 * Registers a passkey, and uses up the link if it is one; ADMIN_EMAIL is notified. Throws what {@link beginRegistration}
 * throws; `forbidden` for an invalid registration, which uses up the challenge but not the link; `usage` for an invalid
 * name; and `busy`, which uses up only the challenge.
 */
export async function register(
  deps: Deps,
  at: string | Session,
  sent: Sent,
  client: Client,
  waitUntilMs = lockDeadline(),
): Promise<void> {
  const { db, clock, config } = deps;
  const { id } = typeof at === 'string' ? readEnrolment(deps, at).admin : signedIn(db, at);
  const name = parseInput(PASSKEY_NAME, sent.name);
  const registration = readAnswer<RegistrationResponseJSON>(sent.credential);
  const credential = await checkRegistration(relyingPartyOf(config.publicUrl), registration, (challenge) => {
    const ticket = write(db, (tx) => useTicket(tx, 'registration', challenge, clock.nowMs()));
    if (ticket?.adminId !== id) throw invalidChallenge();
  });
  if (findPasskey(db, credential.credentialId) !== undefined) {
    throw new AppError('forbidden', 'This passkey is already registered.');
  }
  const store = (tx: Tx) => {
    // In one transaction with the passkey: of two who use a link at once, only one succeeds.
    const adminId =
      typeof at === 'string' ? useTicket(tx, 'enrolment', at, clock.nowMs())?.adminId : signedIn(tx, at).id;
    const admin = findAdminById(tx, adminId);
    if (admin === undefined) throw invalidEnrolment();
    storePasskey(deps, tx, { admin, credential, name }, client);
  };
  await whenFree(db.$client, () => write(db, store), waitUntilMs);
}

function storePasskey(
  { clock, config }: Deps,
  tx: Tx,
  { admin, credential, name }: { admin: Admin; credential: Credential; name: string },
  client: Client,
): void {
  const atMs = clock.nowMs();
  const registered = { registeredAt: atMs, registeredFrom: client.address, registeredBy: agentText(client) };
  tx.insert(passkeys)
    .values({ ...credential, ...registered, adminId: admin.id, name })
    .run();
  const event = { subject: 'admin', event: 'passkey registered', about: admin.name, data: { passkey: name } } as const;
  addEvent(tx, { by: { kind: 'admin', name: admin.name }, atMs }, event);
  const news = { ...config, pages: config.adminPages, admin: admin.name, atMs, address: client.address };
  mailAdmins(tx, config, null, enrolmentMail(news), { by: SERVICE, atMs });
}

/**
 * Removes a passkey of the signed-in admin, and ends all of that admin's sessions, because a thief of the passkey may
 * have started one. Throws `signed_out`, `not_found` for another admin's passkey, and `refused` for the last one.
 */
export function removePasskey({ db, clock }: Deps, session: Session, id: number): void {
  write(db, (tx) => {
    const admin = signedIn(tx, session);
    const all = listPasskeys(tx, admin.id);
    const passkey = all.find((one) => one.id === id);
    if (passkey === undefined) throw new AppError('not_found', 'You have no such passkey.');
    if (all.length === 1) {
      throw new AppError(
        'refused',
        `This is your last passkey; to end your access, run "profilectl admins remove ${shellWord(admin.name)}" on the server itself.`,
      );
    }
    tx.delete(passkeys).where(eq(passkeys.id, id)).run();
    tx.$client.query('DELETE FROM sign_ins WHERE admin_id = ?').run(admin.id);
    const act = { by: { kind: 'admin', name: admin.name }, atMs: clock.nowMs() } as const;
    const data = { passkey: passkey.name };
    addEvent(tx, act, { subject: 'admin', event: 'passkey removed', about: admin.name, data });
  });
}
