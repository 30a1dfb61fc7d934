import { and, eq } from 'drizzle-orm';
import type { Tx } from '../db/connect.ts';
import { admins } from '../db/schema/people.ts';
import { lockDeadline, whenUnlocked } from '../db/when-unlocked.ts';
import { write } from '../db/write.ts';
import { AppError } from '../errors.ts';
import { textInput } from '../keys/fields/input-rules.ts';
import { parseInput } from '../keys/fields/parse-input.ts';
import { addEnrolmentNotice } from '../outbox/people.ts';
import type { Access, Client } from '../sessions-file/access.ts';
import { writeSessions } from '../sessions-file/sessions-file.ts';
import { hashOf } from '../sessions-file/tokens.ts';
import { consumeChallenge, makeChallenge } from './challenges.ts';
import { findEnrolment, invalidEnrolment, useEnrolment } from './enrolments.ts';
import type { Credential } from './passkey-answers.ts';
import { COSE_ALGORITHMS, readRegistration } from './passkey-json.ts';
import { type Admin, findPasskey, insertPasskey, listPasskeys } from './passkeys.ts';
import { addPeopleEvent } from './people-log.ts';
import { type RelyingParty, relyingPartyOf } from './relying-party.ts';

// Registers passkeys at the URLs of enrolments.ts.

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
  const { publicUrl, publicName } = access.config;
  const party = { ...relyingPartyOf(publicUrl), name: publicName };
  const { admin } = findEnrolment(access, secret);
  const challenge = makeChallenge(access, { purpose: 'registration', admin, about: aboutOf(secret) });
  const user = { handle: admin.userHandle.toString('base64url'), name: admin.name };
  const credentialIds = listPasskeys(access.db, admin.name).map(({ credentialId }) =>
    credentialId.toString('base64url'),
  );
  return { challenge, party, user, algorithms: Object.values(COSE_ALGORITHMS), credentialIds };
}

/**
 * Registers a passkey at a URL, under a name chosen by the admin, and uses up the URL; `credential` is the JSON from the
 * browser. The passkey works only once it is confirmed on the server itself, and ADMIN_EMAIL is notified. Throws `refused` as
 * {@link beginRegistration} does; `forbidden` for an invalid URL; `forbidden` for an invalid registration, which uses up the
 * challenge but not the URL; `usage` for an invalid name; and `busy`, which uses up only the challenge, if a file is locked
 * until `waitUntilMs` (`lockDeadline`).
 */
export async function register(
  access: Access,
  secret: string,
  sent: { credential: string; name: string },
  client: Client,
  waitUntilMs = lockDeadline(),
): Promise<{ name: string; passkey: string }> {
  const party = relyingPartyOf(access.config.publicUrl);
  const name = parseInput(PASSKEY_NAME, sent.name);
  const { admin: wanted } = findEnrolment(access, secret);
  const { sent: registration, challenge } = readRegistration(sent.credential);
  consumeChallenge(access, challenge, { purpose: 'registration', admin: wanted, about: aboutOf(secret) });
  const { checkRegistration } = await import('./passkey-answers.ts');
  const credential = await checkRegistration(party, challenge, registration);
  if (findPasskey(access.db, credential.credentialId) !== null) {
    throw new AppError('forbidden', 'This passkey is already registered.');
  }
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

function aboutOf(secret: string): string {
  return hashOf(secret).toString('hex');
}
