import { appendFileSync, closeSync, openSync, readdirSync, readFileSync, readSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { systemRandom } from '../../shared/random.ts';

// After the whole suite, run.ts searches all files that the tests have left for secrets: databases, write-ahead logs,
// the temporary folder, logs and the output of processes. Secrets are those of keys, mailed codes, and the tokens of
// sessions, browsers, challenges and enrolments. While the tests run, helpers record here what would be gone by then.

/** The folder in which a test run keeps its files; undefined if a test file is run by hand. */
export const KEEP_FOLDER = process.env.TEST_KEEP_FOLDER;

/** Whole secrets, as they are mailed, and tokens of backends and people. */
const SECRET = /pl[kpt]_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/g;

/** The digits of codes. */
const DIGIT = '[0-9A-HJKMNP-TV-Z]';

/** A code alone on its line, as in mails. The codes of tests with predictable codes are not secret. */
const CODE = new RegExp(`^(?!0000)${DIGIT}{4}-${DIGIT}{4}\\r?$`, 'gm');

/** A recorded token: 32 random bytes as base64url. */
const TOKEN = /^token ([\w-]{43})$/gm;

/** A link with which an admin registers a passkey, as commands print it. */
const ENROLMENT = /\/enrol#([\w-]{43})/g;

/** What was left behind is found if it has this many consecutive characters of a token or of a secret's random part. */
const LEFT = 16;

/** The length of the pieces that are compared. A file's text is compared at every fifth character, so each {@link LEFT} has one. */
const PIECE = 12;
const STEP = LEFT - PIECE + 1;

/** The file in which secrets are recorded. Besides it, only mails and {@link LOGINS} may contain one. */
const NOTES = 'secrets.txt';

/** Where `profilectl` stores the tokens of logins. */
const LOGINS = 'hosts.json';

/** The names of mails in folders, including one being written when a test killed its process. */
const MAIL = /\.eml$|\/\.[0-9a-f-]{36}\.unfinished$/;

/** Records the secrets and codes in a text, such as a mail that a test server received. */
export function noteSecretsIn(raw: string): void {
  note([...(raw.match(SECRET) ?? []), ...(raw.match(CODE) ?? [])]);
}

/** Records a token: 43 characters of base64url. */
export function noteToken(token: string): void {
  note([`token ${token}`]);
}

/** Records the tokens in a response's Set-Cookie headers. */
export function noteCookies(values: readonly string[]): void {
  for (const value of values) {
    const [, token] = /=([\w-]{43});/.exec(value) ?? [];
    if (token !== undefined) noteToken(token);
  }
}

/** The machine's randomness; records what may become a token. */
export function notedRandom(bytes: number): Uint8Array {
  const drawn = systemRandom(bytes);
  if (bytes === 32) noteToken(Buffer.from(drawn).toString('base64url'));
  return drawn;
}

let notes: number | null = null;

function note(lines: readonly string[]): void {
  if (KEEP_FOLDER === undefined || lines.length === 0) return;
  notes ??= openSync(join(KEEP_FOLDER, NOTES), 'a');
  writeSync(notes, `${lines.join('\n')}\n`);
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

/** The result of a search. `found` contains the names of files, never a secret. */
export type SearchResult = {
  secrets: number;
  codes: number;
  tokens: number;
  files: number;
  bytes: number;
  found: string[];
};

/** The texts to search for: all pieces of secrets and tokens, and whole codes without their hyphen. */
type Wanted = { pieces: ReadonlySet<string>; codes: ReadonlySet<string> };

/** Which of the files a search reads: every `of`-th, from this index. */
export type Share = { at: number; of: number };

/**
 * Collects all secrets, codes and tokens in the notes, the stored logins and the mails below a folder, and searches
 * every other file below it, or a share of them, for codes, and for 16 consecutive characters of a token or of a secret's
 * random part.
 */
export function searchForSecrets(folder: string, share: Share = { at: 0, of: 1 }): SearchResult {
  const paths = filesBelow(folder);
  const isMail = (path: string) => MAIL.test(path) || [NOTES, LOGINS].includes(basename(path));
  const texts = paths.filter(isMail).map((path) => readFileSync(path, 'latin1'));
  const secrets = new Set(texts.flatMap((text) => text.match(SECRET) ?? []));
  const codes = new Set(texts.flatMap((text) => (text.match(CODE) ?? []).map((code) => code.trim().replace('-', ''))));
  const tokens = new Set(texts.flatMap((text) => [...text.matchAll(TOKEN)].map(([, token]) => token as string)));
  const pieces = new Set<string>();
  for (const text of [...tokens, ...Array.from(secrets, (secret) => secret.slice(13))]) {
    for (let from = 0; from + PIECE <= text.length; from++) pieces.add(text.slice(from, from + PIECE));
  }
  const counts = { secrets: secrets.size, codes: codes.size, tokens: tokens.size };
  const result: SearchResult = { ...counts, files: 0, bytes: 0, found: [] };
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (const [index, path] of paths.filter((path) => !isMail(path)).entries()) {
    if (index % share.of !== share.at) continue;
    const { bytes, isFound } = searchFile(path, chunk, { pieces, codes });
    result.files++;
    result.bytes += bytes;
    if (isFound) result.found.push(path);
  }
  return result;
}

/** All files below a folder. Links are not followed: they may lead out of it, or back into it. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}

const CHUNK_BYTES = 8 * 1024 * 1024;

function searchFile(path: string, chunk: Buffer, wanted: Wanted): { bytes: number; isFound: boolean } {
  const file = openSync(path, 'r');
  let bytes = 0;
  let isFound = false;
  let kept = 0;
  try {
    for (;;) {
      const length = readSync(file, chunk, kept, chunk.length - kept, null);
      if (length === 0) return { bytes, isFound };
      bytes += length;
      const end = kept + length;
      isFound ||= hasAny(chunk, end, wanted);
      // It may span two chunks.
      kept = Math.min(LEFT - 1, end);
      chunk.copyWithin(0, end - kept, end);
    }
  } finally {
    closeSync(file);
  }
}

/** The length of the shortest text to search for: a code without its hyphen. */
const SHORTEST = 8;

/** For each byte, whether it is a character of base64url, of which secrets, codes and tokens consist. */
const IS_WORD = Array.from({ length: 256 }, (_, byte) => /[\w-]/.test(String.fromCharCode(byte)));

/**
 * Whether one of the wanted texts occurs in these bytes. It is part of a run of at least 8 characters of base64url. Each such
 * run contains one of every eighth byte, so most of the others need not be read.
 */
function hasAny(bytes: Buffer, end: number, wanted: Wanted): boolean {
  for (let at = SHORTEST - 1; at < end; at += SHORTEST) {
    let first = at;
    while (first >= 0 && IS_WORD[bytes[first] as number]) first--;
    if (first === at) continue;
    while (at < end && IS_WORD[bytes[at] as number]) at++;
    const run = bytes.toString('latin1', first + 1, at);
    if (run.length < SHORTEST) continue;
    if (hasPiece(run, wanted.pieces) || hasCode(run, wanted.codes)) return true;
  }
  return false;
}

function hasPiece(run: string, pieces: ReadonlySet<string>): boolean {
  // Tests are full of long texts of one repeated letter, which are not part of anything random.
  if (run.length < LEFT || /^(.)\1*$/.test(run)) return false;
  for (let from = 0; from + PIECE <= run.length; from += STEP)
    if (pieces.has(run.slice(from, from + PIECE))) return true;
  return false;
}

const CODE_RUN = new RegExp(`${DIGIT}{4}-${DIGIT}{4}|${DIGIT}{8,}`, 'g');

/** Whether a code occurs in a string, with or without its hyphen. */
function hasCode(text: string, codes: ReadonlySet<string>): boolean {
  for (const [run] of text.matchAll(CODE_RUN)) {
    const digits = run.replace('-', '');
    for (let from = 0; from + 8 <= digits.length; from++) if (codes.has(digits.slice(from, from + 8))) return true;
  }
  return false;
}
