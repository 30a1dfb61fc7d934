import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addAdmin } from '../../../shared/admins/admins.ts';
import { beginPasskeySignIn } from '../../../shared/passkeys/assertions.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { hashOf } from '../../../shared/sessions-file/tokens.ts';
import { newCode, showCode } from '../../../shared/sign-in/code-text.ts';
import { enterCode, requestCode } from '../../../shared/sign-in/codes.ts';
import { enterHandOver } from '../../../shared/sign-in/hand-over.ts';
import { countedUnder } from '../../../shared/sign-in/mail-limits.ts';
import { endSignIn, readSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { onBox } from '../../support/actors.ts';
import { CLIENT, openerFor, testAccess, ticketFor } from '../../support/portal/access.ts';
import { enrol, signIn } from '../../support/portal/admins.ts';
import { insertProfile } from '../../support/profiles.ts';
import { notedRandom } from '../../support/secret-search.ts';

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

/** All bytes of the files beside the database whose name begins with this, except mails. */
function bytesOfFiles(folder: string, start = ''): Buffer {
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name.startsWith(start),
  );
  expect(files.map(({ name }) => name)).toContain('profiles.db.sessions-wal');
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

/** Random bytes that are not secret and stored unchanged: the key of mail counts, and the user handles of admins. */
function storedAsTheyAre({ db, sessions }: Access): string[] {
  const handles = db.$client.query<{ value: Uint8Array }, []>('SELECT user_handle AS value FROM admins').all();
  const keys = sessions.sqlite.query<{ value: Uint8Array }, []>('SELECT value FROM settings').all();
  return [...handles, ...keys].map(({ value }) => Buffer.from(value).toString('hex'));
}

test('the two files contain no code, session, challenge or other token in plain text, used or not', async () => {
  const { drawn, random } = recordingRandom();
  const access = testAccess({ random, variables: { PUBLIC_URL: 'https://api.example.org' } });
  insertProfile(access.db, { id: 7, username: 'lovelace', email: 'lovelace@example.org' });
  insertProfile(access.db, { id: 8, username: 'beatrice', email: 'beatrice@example.org' });
  const ask = (name: string) =>
    requestCode(access, {
      name,
      address: `${name}@example.org`,
      browserSecret: null,
      knownBrowser: null,
      client: CLIENT,
    });
  // One owner signs in and out, and in again; another owner's code stays unused.
  const { browserSecret, mail } = ask('lovelace');
  await mail();
  const code = newCode(() => drawn.findLast(({ length }) => length === 5) as Uint8Array);
  const entered = enterCode(access, { browserSecret, knownBrowser: null, code, client: CLIENT });
  if (!entered.isSignedIn) throw new Error('The code did not work.');
  ask('beatrice');
  // One admin signs in, and another is invited; a challenge stays open.
  const signed = await signIn(access, await enrol(access, 'Grace'));
  addAdmin(access, 'Linus', onBox('root'));
  beginPasskeySignIn(access);
  const { signed: ada } = entered.session;
  // A backend hands a user over; another link stays unused.
  const opener = openerFor({ ...access, random: notedRandom });
  enterHandOver(access, ticketFor(access, 7, opener), null, CLIENT);
  const link = ticketFor(access, 8, opener);
  endSignIn(access, ada, entered.session.id);
  expect(readSignIn(access, signed.token)).not.toBeNull();

  const files = bytesOfFiles(access.folder);
  // The search works: it finds the session's hash, which is stored.
  expect([signed.token, link].map((text) => files.includes(hashOf(text)))).toEqual(Array(2).fill(true));
  const known = storedAsTheyAre(access);
  const secret = drawn.filter((bytes) => !known.includes(Buffer.from(bytes).toString('hex')));
  // Two codes and their browsers' secrets, two known browsers, three sessions, two enrolments, three challenges and two
  // links of a backend.
  expect([
    secret.filter(({ length }) => length === 5).length,
    secret.filter(({ length }) => length === 32).length,
  ]).toEqual([2, 14]);
  const found = secret.flatMap((bytes, number) =>
    formsOf(bytes).some((form) => files.includes(form)) ? [number] : [],
  );
  expect(found).toEqual([]);
  const sessions = bytesOfFiles(access.folder, 'profiles.db.sessions').toString('latin1').toLowerCase();
  expect(['lovelace', 'beatrice', '@example.org'].filter((text) => sessions.includes(text))).toEqual([]);
});

test('requests for codes are counted under hashes that nobody can compute without the key of the file', () => {
  const asked = { pair: [7, 'lovelace@example.org'], clientAddress: '192.0.2.7', knownBrowser: null };
  const [one, other] = [1, 2].map((byte) =>
    Object.values(countedUnder(new Uint8Array(32).fill(byte), asked)).map((hash) => hash.toString('hex')),
  );
  expect(one?.filter((hash) => other?.includes(hash))).toEqual([]);
});
