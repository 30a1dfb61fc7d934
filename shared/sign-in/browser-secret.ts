import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Random } from '../random.ts';
import { fileKey, type SessionsFile } from '../sessions-file/sessions-file.ts';
import { keyedHash } from '../sessions-file/tokens.ts';

// The secret of a browser that requested a code, by which the code is found. The cookie contains it encrypted, with a
// different value after each request, so that the cookies of repeated requests do not reveal whether an earlier code
// was replaced.

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts a secret for its cookie: 80 characters of base64url, different each time. */
export function sealBrowserSecret(sessions: SessionsFile, random: Random, secret: string): string {
  const nonce = random(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(sessions), nonce);
  const sealed = [cipher.update(Buffer.from(secret, 'base64url')), cipher.final()];
  return Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]).toString('base64url');
}

/** Decrypts the secret in a cookie; null without a cookie, or if it was not made with this sessions file. */
export function openBrowserSecret(sessions: SessionsFile, cookie: string | null): string | null {
  const bytes = Buffer.from(cookie ?? '', 'base64url');
  if (bytes.length <= NONCE_BYTES + TAG_BYTES) return null;
  const opener = createDecipheriv(CIPHER, keyOf(sessions), bytes.subarray(0, NONCE_BYTES));
  opener.setAuthTag(bytes.subarray(-TAG_BYTES));
  const opened = opener.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([opened, opener.final()]).toString('base64url');
  } catch {
    return null;
  }
}

function keyOf(sessions: SessionsFile): Uint8Array {
  return keyedHash(fileKey(sessions), 'browser secret');
}
