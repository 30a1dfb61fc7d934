import { appendFileSync, closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';

// After the whole suite, run.ts looks for every secret that was ever mailed in whatever the tests have left behind:
// databases, WALs, the temporary folder, logs, what processes printed. While the tests run, the helpers note here what
// would otherwise be gone by then.

/** The folder in which a test run keeps what it leaves behind; undefined where tests are run by hand. */
export const KEEP_FOLDER = process.env.TEST_KEEP_FOLDER;

/** Whole secrets, as they are mailed. */
const SECRET = /plk_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/g;

/** So many characters in a row out of the random part of a secret, and we call it found. */
const PIECE = 16;

/** Where the mailed secrets are noted; the only file, beside the mails themselves, that may hold one. */
const NOTES = 'secrets.txt';

/** Notes the secrets of a mail that a test server has received. */
export function noteMail(raw: string): void {
  const secrets = raw.match(SECRET);
  if (KEEP_FOLDER !== undefined && secrets !== null) {
    appendFileSync(join(KEEP_FOLDER, NOTES), `${secrets.join('\n')}\n`);
  }
}

/** Keeps what a process has printed, or a server logged, to be searched. */
export function noteOutput(text: string): void {
  if (KEEP_FOLDER !== undefined && text !== '') appendFileSync(join(KEEP_FOLDER, 'printed.txt'), `${text}\n`);
}

/** What a search has found; `found` names the files, and never repeats a secret. */
export type SearchResult = { secrets: number; files: number; bytes: number; found: string[] };

/**
 * Takes all secrets out of the notes and of the `.eml` files below a folder, and looks for them, and for any 16
 * consecutive characters of their random parts, in every other file below it.
 */
export function searchForSecrets(folder: string): SearchResult {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const isMail = (path: string) => path.endsWith('.eml') || basename(path) === NOTES;
  const secrets = new Set(paths.filter(isMail).flatMap((path) => readFileSync(path, 'latin1').match(SECRET) ?? []));
  const pieces = new Set([...secrets].flatMap((secret) => piecesOf(secret.slice(13))));
  const result: SearchResult = { secrets: secrets.size, files: 0, bytes: 0, found: [] };
  for (const path of paths.filter((path) => !isMail(path))) {
    const { bytes, isFound } = searchFile(path, pieces);
    result.files++;
    result.bytes += bytes;
    if (isFound) result.found.push(path);
  }
  return result;
}

function piecesOf(text: string): string[] {
  return Array.from({ length: text.length - PIECE + 1 }, (_, from) => text.slice(from, from + PIECE));
}

const CHUNK_BYTES = 8 * 1024 * 1024;

function searchFile(path: string, pieces: ReadonlySet<string>): { bytes: number; isFound: boolean } {
  const file = openSync(path, 'r');
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let bytes = 0;
  let isFound = false;
  let tail = '';
  try {
    for (let length = readSync(file, buffer); length > 0; length = readSync(file, buffer)) {
      bytes += length;
      const text = tail + buffer.toString('latin1', 0, length);
      isFound ||= hasPiece(text, pieces);
      // A piece may lie across the border.
      tail = text.slice(1 - PIECE);
    }
  } finally {
    closeSync(file);
  }
  return { bytes, isFound };
}

const RUN = new RegExp(`[0-9A-Za-z]{${PIECE},}`, 'g');

function hasPiece(text: string, pieces: ReadonlySet<string>): boolean {
  for (const [run] of text.matchAll(RUN)) {
    // Long texts of one letter are what tests are full of, and no piece of anything random.
    if (/^(.)\1*$/.test(run)) continue;
    for (let from = 0; from + PIECE <= run.length; from++) if (pieces.has(run.slice(from, from + PIECE))) return true;
  }
  return false;
}
