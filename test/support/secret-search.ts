import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemRandom } from '../../shared/random.ts';

// After the whole suite, test/run.ts searches all files that the tests have left for secrets: databases, write-ahead logs,
// the temporary folder, logs and the output of processes. Secrets are those of keys, mailed codes, and the tokens of
// sessions, browsers, challenges and enrolments. While the tests run, helpers record here what would be gone by then.

/** The folder in which a test run keeps its files; undefined if a test file is run by hand. */
export const KEEP_FOLDER = process.env.TEST_KEEP_FOLDER;

/** Whole secrets, as they are mailed, and tokens of backends and people. */
const SECRET = /pl[kp]_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/g;

/** A code alone on its line, as in mails. The codes of tests with predictable codes are not secret. */
const CODE = /^(?!0000)[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}\r?$/gm;

/** A link with which an admin registers a passkey, as commands print it. */
const ENROLMENT = /\/enrol#([\w-]{43})/g;

/** Records the secrets and codes in a text, such as a mail that a test server received. */
export function noteSecretsIn(raw: string): void {
  note([...(raw.match(SECRET) ?? []), ...(raw.match(CODE) ?? [])]);
}

/** Records a token: 43 characters of base64url. */
function noteToken(token: string): void {
  note([`token ${token}`]);
}

/** Records the tokens in a response's Set-Cookie headers. */
export function noteCookies(values: readonly string[]): void {
  for (const [, token = ''] of values.join('\n').matchAll(/=([\w-]{43});/g)) noteToken(token);
}

/** The machine's randomness; records what may become a token. */
export function notedRandom(bytes: number): Uint8Array {
  const drawn = systemRandom(bytes);
  if (bytes === 32) noteToken(Buffer.from(drawn).toString('base64url'));
  return drawn;
}

/** Besides the file with these lines, only mails may contain a secret. */
function note(lines: readonly string[]): void {
  if (KEEP_FOLDER === undefined || lines.length === 0) return;
  appendFileSync(join(KEEP_FOLDER, 'secrets.txt'), `${lines.join('\n')}\n`);
}

/**
 * Keeps the output of a process, or a server's log, for the search. Commands print the link of an enrolment for the
 * operator; its token is recorded, and must not occur anywhere else.
 */
export function noteOutput(text: string): void {
  if (KEEP_FOLDER === undefined || text === '') return;
  for (const [, token = ''] of text.matchAll(ENROLMENT)) noteToken(token);
  appendFileSync(join(KEEP_FOLDER, 'printed.txt'), `${text.replace(ENROLMENT, '/enrol#')}\n`);
}
