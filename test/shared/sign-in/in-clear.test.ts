import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addAdmin } from '../../../shared/admins.ts';
import type { Deps } from '../../../shared/deps.ts';
import { createCodeDesk, enterCode, newCode, requestCode, showCode } from '../../../shared/sign-in/codes.ts';
import { enterHandOver } from '../../../shared/sign-in/hand-over.ts';
import { beginPasskeySignIn } from '../../../shared/sign-in/passkeys.ts';
import { endSignIn, readSignIn } from '../../../shared/sign-in/sessions.ts';
import { hashOf } from '../../../shared/sign-in/tickets.ts';
import { addBackend, CLIENT, enrol, signIn, ticketFor } from '../../support/people.ts';
import { insertProfile } from '../../support/profiles.ts';
import { notedRandom } from '../../support/secret-search.ts';
import { onBox, testDeps } from '../../support/world.ts';

/** Draws of random bytes; 32 bytes become tokens and challenges, 5 become codes. */
function recordingRandom() {
  const drawn: Uint8Array[] = [];
  const random = (bytes: number) => {
    const fresh = notedRandom(bytes);
    if (bytes === 32 || bytes === 5) drawn.push(fresh);
    return fresh;
  };
  return { drawn, random };
}

/** All bytes of the database and the files beside it, except mails. */
function bytesOfFiles(folder: string): Buffer {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.map(({ name }) => name)).toContain('profiles.db-wal');
  return Buffer.concat(files.map(({ name }) => readFileSync(join(folder, name))));
}

/** The forms in which random bytes may have been written. */
function formsOf(drawn: Uint8Array): Buffer[] {
  const bytes = Buffer.from(drawn);
  // Without the last character, which has bits of the following bytes if more is encoded together.
  const texts = [bytes.toString('base64url'), bytes.toString('base64').replace(/=+$/, '')].map((text) =>
    text.slice(0, -1),
  );
  texts.push(bytes.toString('hex'));
  if (drawn.length === 5) {
    const code = newCode(() => drawn);
    // In base64 5 bytes are so short that they may occur by chance. Codes may also be typed in lower case.
    return [code, showCode(code), code.toLowerCase(), showCode(code).toLowerCase()].map((text) => Buffer.from(text));
  }
  return [bytes, ...[...texts, bytes.toString('hex').toUpperCase()].map((text) => Buffer.from(text))];
}

/** Random bytes that are not secret and stored unchanged: the user handles of admins. */
function storedAsTheyAre({ db }: Deps): string[] {
  const handles = db.$client.query<{ value: Uint8Array }, []>('SELECT user_handle AS value FROM admins').all();
  return handles.map(({ value }) => Buffer.from(value).toString('hex'));
}

test('no file contains a code, session, challenge or other token in plain text, used or not', async () => {
  const { drawn, random } = recordingRandom();
  const access = testDeps({ random, variables: { PUBLIC_URL: 'https://api.example.org' } });
  insertProfile(access.db, { id: 7, username: 'lovelace', email: 'lovelace@example.org' });
  insertProfile(access.db, { id: 8, username: 'beatrice', email: 'beatrice@example.org' });
  const desk = createCodeDesk(access.clock);
  const ask = (name: string) =>
    requestCode(access, desk, { name, address: `${name}@example.org`, browserSecret: null, client: CLIENT });
  // One owner signs in and out, and in again; another owner's code stays unused.
  const { browserSecret, mail } = ask('lovelace');
  await mail();
  const code = newCode(() => drawn.findLast(({ length }) => length === 5) as Uint8Array);
  const entered = enterCode(access, { browserSecret, code, client: CLIENT });
  if (!entered.isSignedIn) throw new Error('The code did not work.');
  ask('beatrice');
  // One admin signs in, and another is invited; a challenge stays open.
  const signed = await signIn(access, await enrol(access, 'Grace'));
  addAdmin(access, 'Linus', onBox('root'));
  beginPasskeySignIn(access);
  // A backend hands a user over; another link stays unused.
  const opener = addBackend({ ...access, random: notedRandom }).identifier;
  enterHandOver(access, ticketFor(access, 7, opener), CLIENT);
  const link = ticketFor(access, 8, opener);
  endSignIn(access, { profileId: 7, adminId: null }, readSignIn(access, entered.token)?.id ?? 0);
  expect(readSignIn(access, signed.token)).not.toBeNull();

  const files = bytesOfFiles(access.folder);
  // The search works: it finds the session's hash, which is stored.
  expect([signed.token, link].map((text) => files.includes(hashOf(text)))).toEqual(Array(2).fill(true));
  const known = storedAsTheyAre(access);
  const secret = drawn.filter((bytes) => !known.includes(Buffer.from(bytes).toString('hex')));
  // Two codes and their browsers' secrets, three sessions, two enrolments, three challenges and two links of a backend.
  expect([
    secret.filter(({ length }) => length === 5).length,
    secret.filter(({ length }) => length === 32).length,
  ]).toEqual([2, 12]);
  const found = secret.flatMap((bytes, number) =>
    formsOf(bytes).some((form) => files.includes(form)) ? [number] : [],
  );
  expect(found).toEqual([]);
});
