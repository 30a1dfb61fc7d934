import { and, eq } from 'drizzle-orm';
import { SERVICE } from '../actor.ts';
import { adminPages } from '../config/pages.ts';
import type { Db, Tx } from '../db/connect.ts';
import { admins } from '../db/schema/people.ts';
import { whenUnlocked } from '../db/when-unlocked.ts';
import { lockDeadline, write } from '../db/write.ts';
import { AppError } from '../errors.ts';
import { addEvent } from '../events.ts';
import { textInput } from '../keys/fields/input-rules.ts';
import { parseInput } from '../keys/fields/parse-input.ts';
import { refuseFormerAdmin } from '../keys/life/admin-generation.ts';
import { mailAdmins } from '../mail/outbox.ts';
import { enrolmentMail } from '../mail/texts/people-mails.ts';
import type { Access, Client } from '../sessions-file/access.ts';
import { writeSessions } from '../sessions-file/sessions-file.ts';
import { hashOf } from '../sessions-file/tokens.ts';
import type { SignedAdmin } from '../sessions-file/whose.ts';
import { consumeChallenge, makeChallenge } from './challenges.ts';
import { findEnrolment, invalidEnrolment, useEnrolment } from './enrolments.ts';
import type { Credential } from './passkey-answers.ts';
import { COSE_ALGORITHMS, readRegistration } from './passkey-json.ts';
import { type Admin, findPasskey, insertPasskey, listPasskeys } from './passkeys.ts';
import { type RelyingParty, relyingPartyOf } from './relying-party.ts';

// Registers passkeys: the first at a URL of enrolments.ts, others by the signed-in admin.

/**
 * The data that a browser needs to create a passkey, as in WebAuthn; the challenge, the handle and the credential IDs are
 * base64url.
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

const PASSKEY_NAME = textInput({ label: 'name of the passkey', min: 1, max: 64, lines: false });

/**
 * Starts a registration at a URL. Throws `forbidden`; `refused` if browsers don't support passkeys for PUBLIC_URL; and
 * `too_many_challenges`.
 */
export function beginRegistration(access: Access, secret: string): RegistrationOptions {
  return optionsFor(access, findEnrolment(access, secret).admin, aboutOf(secret));
}

/** Starts the registration of another passkey of a signed-in admin. Throws what {@link beginRegistration} throws. */
export function beginOwnRegistration(access: Access, signed: SignedAdmin): RegistrationOptions {
  return optionsFor(access, signedIn(access.db, signed), '');
}

function optionsFor(access: Access, admin: Admin, about: string): RegistrationOptions {
  const { publicUrl, publicName } = access.config;
  const party = { ...relyingPartyOf(publicUrl), name: publicName };
  const challenge = makeChallenge(access, { admin, about });
  const user = { handle: admin.userHandle.toString('base64url'), name: admin.name };
  const credentialIds = listPasskeys(access.db, admin.name).map(({ credentialId }) =>
    credentialId.toString('base64url'),
  );
  return { challenge, party, user, algorithms: Object.values(COSE_ALGORITHMS), credentialIds };
}

/** What the browser sends: the JSON of the credential, and the name that the admin gave the passkey. */
type Sent = { credential: string; name: string };

/**
 * Registers a passkey at a URL and uses up the URL; ADMIN_EMAIL is notified. Throws `refused` as {@link beginRegistration} does;
 * `forbidden` for an invalid URL; `forbidden` for an invalid registration, which uses up the challenge but not the URL; `usage`
 * for an invalid name; and `busy`, which uses up only the challenge, if a file is locked until `waitUntilMs` (`lockDeadline`).
 */
export async function register(
  access: Access,
  secret: string,
  sent: Sent,
  client: Client,
  waitUntilMs = lockDeadline(),
): Promise<{ name: string; passkey: string }> {
  const { admin: wanted } = findEnrolment(access, secret);
  const { credential, name } = await checked(access, wanted, aboutOf(secret), sent);
  await whenUnlocked(access.sessions.sqlite, waitUntilMs);
  await whenUnlocked(access.db.$client, waitUntilMs);
  // Nested transactions: if the main database is locked, the URL stays valid.
  writeSessions(access.sessions, (sessionsDb) => {
    const { name: invited, generation } = useEnrolment(access, sessionsDb, secret);
    write(access.db, (tx) => {
      const isInvited = and(eq(admins.name, invited), eq(admins.generation, generation));
      const admin = tx.select().from(admins).where(isInvited).get();
      if (admin === undefined) throw invalidEnrolment();
      storePasskey(access, tx, { admin, credential, name }, client);
    });
  });
  return { name: wanted.name, passkey: name };
}

/** Registers another passkey of a signed-in admin. Throws `signed_out`, and what {@link register} throws for a registration. */
export async function registerOwn(
  access: Access,
  signed: SignedAdmin,
  sent: Sent,
  client: Client,
  waitUntilMs = lockDeadline(),
): Promise<void> {
  const { credential, name } = await checked(access, signedIn(access.db, signed), '', sent);
  await whenUnlocked(access.db.$client, waitUntilMs);
  write(access.db, (tx) => storePasskey(access, tx, { admin: signedIn(tx, signed), credential, name }, client));
}

/** The admin of a session, unless their access has changed since it began. */
function signedIn(db: Db | Tx, { name, generation }: SignedAdmin): Admin {
  refuseFormerAdmin(db, { kind: 'admin', name, generation });
  const admin = db.select().from(admins).where(eq(admins.name, name)).get();
  if (admin === undefined) throw new AppError('signed_out');
  return admin;
}

/** Uses up the challenge of a registration, and checks it. */
async function checked(access: Access, admin: Admin, about: string, sent: Sent) {
  const party = relyingPartyOf(access.config.publicUrl);
  const name = parseInput(PASSKEY_NAME, sent.name);
  const { sent: registration, challenge } = readRegistration(sent.credential);
  consumeChallenge(access, challenge, { admin, about });
  const { checkRegistration } = await import('./passkey-answers.ts');
  const credential = await checkRegistration(party, challenge, registration);
  if (findPasskey(access.db, credential.credentialId) !== null) {
    throw new AppError('forbidden', 'This passkey is already registered.');
  }
  return { credential, name };
}

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
  addEvent(tx, { by: about, atMs }, { subject: 'admin', event: 'passkey registered', about: about.name, data: detail });
  const news = { ...config, pages: adminPages(config), admin: admin.name, atMs, address: client.address };
  mailAdmins(tx, config, null, enrolmentMail(news), { by: SERVICE, atMs });
}

function aboutOf(secret: string): string {
  return hashOf(secret).toString('hex');
}
